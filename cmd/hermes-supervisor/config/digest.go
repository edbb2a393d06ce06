package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Digest is a SHA-256, in hex, of what a running process of the service was started with: command, folder, environment
// (with the contents of env files), limits, and where its output goes. Another digest needs a restart; the settings
// that it leaves out (restart, stop, ready, health, log_max, profiles, autostart) take effect without one.
//
// Digests are compared within one home and after At; before it the contents of env files whose path has a placeholder
// are not in it.
func (s Service) Digest() string {
	h := sha256.New()
	part := func(name string, values ...string) {
		fmt.Fprintf(h, "%s %d\n", name, len(values))
		for _, v := range values {
			fmt.Fprintf(h, "%d %s\n", len(v), v)
		}
	}
	env := map[string]string{}
	for i, path := range s.EnvFile {
		if i < len(s.FileEnv) && s.FileEnv[i] != nil {
			maps.Copy(env, s.FileEnv[i])
		} else {
			part("env_file", path)
		}
	}
	maps.Copy(env, s.Env)
	part("service 1", s.Name)
	part("command", s.Command...)
	if len(s.KnownFlags) > 0 {
		part("known_flags", s.KnownFlags...)
	}
	if s.SecretEnv != "" {
		part("secret_env", s.SecretEnv)
	}
	part("cwd", s.Cwd)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		part("env", name, env[name])
	}
	part("unset_env", slices.Compact(slices.Sorted(slices.Values(s.UnsetEnv)))...)
	part("limits", strconv.FormatInt(int64(s.Limits.Memory), 10), strconv.Itoa(s.Limits.OpenFiles), strconv.Itoa(s.Limits.Nice))
	part("output", s.Output)
	return hex.EncodeToString(h.Sum(nil))
}
