package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// secretMask stands for a value that is not shown.
const secretMask = "***"

// secretWords are what makes a name look like a secret's.
var secretWords = []string{"TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"}

func secretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

// WithoutSecrets is a copy to be shown: "***" stands for the values of variables and command line flags whose names look
// like a secret's, and for such values in URLs. What else a value holds cannot be known.
func (c Config) WithoutSecrets() Config {
	c.Services = slices.Clone(c.Services)
	for i, s := range c.Services {
		s.Command, s.Env = maskArgv(s.Command), maskEnv(s.Env)
		if s.Ready != nil {
			ready := *s.Ready
			ready.HTTP = maskURL(ready.HTTP)
			s.Ready = &ready
		}
		if s.Health != nil {
			health := *s.Health
			health.HTTP = maskURL(health.HTTP)
			s.Health = &health
		}
		c.Services[i] = s
	}
	c.Notify.Command = maskArgv(c.Notify.Command)
	c.Agents = maps.Clone(c.Agents)
	for name, a := range c.Agents {
		a.Command, a.Resume, a.Args, a.Env = maskArgv(a.Command), maskArgv(a.Resume), maskArgv(a.Args), maskEnv(a.Env)
		c.Agents[name] = a
	}
	c.Handoff.Platforms = maps.Clone(c.Handoff.Platforms)
	for name, p := range c.Handoff.Platforms {
		p.Command = maskArgv(p.Command)
		c.Handoff.Platforms[name] = p
	}
	return c
}

func maskEnv(env map[string]string) map[string]string {
	env = maps.Clone(env)
	for name, value := range env {
		if secretName(name) && value != "" {
			env[name] = secretMask
		} else {
			env[name] = maskURL(value)
		}
	}
	return env
}

// maskArgv masks --api-key=VALUE, API_KEY=VALUE, and the element behind --api-key.
func maskArgv(argv []string) []string {
	argv = slices.Clone(argv)
	for i, element := range argv {
		name, _, found := strings.Cut(element, "=")
		switch {
		case found && secretName(name):
			argv[i] = name + "=" + secretMask
		case i > 0 && strings.HasPrefix(argv[i-1], "-") && !strings.Contains(argv[i-1], "=") && secretName(argv[i-1]):
			argv[i] = secretMask
		default:
			argv[i] = maskURL(element)
		}
	}
	return argv
}

// urlSecrets are the password of a URL, and the values of its query whose names look like a secret's.
var urlSecrets = sync.OnceValues(func() (password, query *regexp.Regexp) {
	return regexp.MustCompile(`(://[^/?#:@\s]*:)[^/?#\s]*@`),
		regexp.MustCompile(`(?i)([?&][^=&#\s]*(?:` + strings.Join(secretWords, "|") + `)[^=&#\s]*=)[^&#\s]+`)
})

// maskURL masks the secrets of the URLs in a value.
func maskURL(value string) string {
	if !strings.Contains(value, "://") {
		return value
	}
	password, query := urlSecrets()
	return query.ReplaceAllString(password.ReplaceAllString(value, "${1}"+secretMask+"@"), "${1}"+secretMask)
}
