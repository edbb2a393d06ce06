package config

import (
	"maps"
	"strings"
)

// resolve expands the service and reads its env files, and checks what could not be checked before.
func (s Service) resolve(around *surroundings) (Service, *fault) {
	s, f := s.rewrite(func(text string) (string, *fault) {
		if strings.ContainsRune(text, 0) {
			return "", &fault{problem: "has a NUL character"}
		}
		if name := unknownPlaceholder(text, servicePlaceholders); name != "" {
			return "", &fault{problem: placeholderProblem(name, servicePlaceholders), nearest: nearestPlaceholder(name, servicePlaceholders)}
		}
		value, problem := around.expand(text, 0)
		if problem == "" && unknownPlaceholder(value, servicePlaceholders) != "" {
			problem = "has {{ from a variable or a default that is no placeholder"
		}
		if problem != "" {
			return "", &fault{problem: problem}
		}
		return value, nil
	})
	if f != nil {
		return s, f
	}
	if problem := checkProgram(s.Command[0], "(~/ and ${NAME} are expanded) or a name in PATH"); problem != "" {
		return s, &fault{key: "command", problem: "element 1: " + problem}
	}
	if f := s.checkPaths(); f != nil {
		return s, f
	}
	for _, path := range s.EnvFile {
		var vars map[string]string
		if !strings.Contains(path, "{{") {
			var err error
			if vars, err = s.readEnv(path, around.read); err != nil {
				return s, &fault{key: "env_file", problem: err.Error()}
			}
		}
		s.FileEnv = append(s.FileEnv, vars)
	}
	return s, nil
}

func (s Service) checkPaths() *fault {
	type named struct{ key, path string }
	paths := []named{{"cwd", s.Cwd}}
	for _, path := range s.EnvFile {
		if path == "" {
			return &fault{key: "env_file", problem: "names no file"}
		}
		paths = append(paths, named{"env_file", path})
	}
	if s.Cwd == "" {
		return &fault{key: "cwd", problem: "names no folder"}
	}
	if s.Ready != nil {
		paths = append(paths, named{"ready.file", s.Ready.File})
	}
	if s.Health != nil {
		paths = append(paths, named{"health.heartbeat", s.Health.Heartbeat})
	}
	for _, p := range paths {
		if problem := checkPath(p.path); problem != "" {
			return &fault{key: p.key, problem: problem}
		}
	}
	return nil
}

// At is the service in one home: the placeholders are replaced by the home's path and its profile ("" or RootProfile for
// the root home), and Env holds what EnvFile and Env set together; EnvFile and FileEnv are nil. It reads the env files
// whose path has a placeholder: one that cannot be read, or is bad, is an *Error.
func (s Service) At(home, profile string) (Service, error) {
	if profile == "" {
		profile = RootProfile
	}
	places := strings.NewReplacer(placeHome, home, placeProfile, profile)
	at, _ := s.rewrite(func(value string) (string, *fault) { return places.Replace(value), nil })
	env := map[string]string{}
	for i, path := range at.EnvFile {
		var vars map[string]string
		if i < len(s.FileEnv) {
			vars = s.FileEnv[i]
		}
		if vars == nil {
			var err error
			if vars, err = s.readEnv(path, read); err != nil {
				return Service{}, err
			}
		}
		maps.Copy(env, vars)
	}
	maps.Copy(env, at.Env)
	at.Env, at.EnvFile, at.FileEnv = env, nil, nil
	return at, nil
}
