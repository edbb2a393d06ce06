package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hermes-supervisor/fsstate"
)

// RootProfile is the name that the root home has where profiles are named, as in Hermes.
const RootProfile = "default"

// Profiles are the homes that have a service: in the file "all" or a list of names.
type Profiles struct {
	All   bool     // the root home and every profile, those that appear later too
	Names []string // where not All: profiles, RootProfile for the root home
}

// Has tells whether the home of that profile has the service; "" and RootProfile are the root home.
func (p Profiles) Has(profile string) bool {
	if profile == "" {
		profile = RootProfile
	}
	return p.All || slices.Contains(p.Names, profile)
}

// MarshalTOML is the file's form.
func (p Profiles) MarshalTOML() ([]byte, error) {
	if p.All {
		return []byte(`"all"`), nil
	}
	names := make([]string, len(p.Names))
	for i, name := range p.Names {
		names[i] = strconv.Quote(name) // plain names, or the check refuses them
	}
	return []byte("[" + strings.Join(names, ", ") + "]"), nil
}

func (d *document) setProfiles(path []string, v any, dst *Profiles) error {
	const want = `"all" or an array of profiles' names`
	if s, ok := v.(string); ok {
		if s != "all" {
			return d.fault(path, fmt.Sprintf("must be %s, not %.40q", want, s), "")
		}
		*dst = Profiles{All: true}
		return nil
	}
	*dst = Profiles{}
	return array(d, path, v, &dst.Names, want)
}

func (p Profiles) check() string {
	if !p.All && len(p.Names) == 0 {
		return `names no home (the root home is "` + RootProfile + `")`
	}
	for i, name := range p.Names {
		if !fsstate.PlainName(name) {
			return fmt.Sprintf("%.80q is no profile name (up to 64 of a-z, 0-9, _ and -, a letter or digit first)", name)
		}
		if slices.Contains(p.Names[:i], name) {
			return fmt.Sprintf("names %q twice", name)
		}
	}
	return ""
}
