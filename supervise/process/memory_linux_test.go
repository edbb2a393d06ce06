package process

import (
	"os"
	"testing"
)

func TestProgramRunsOnAfterItsPagesAreGivenBack(t *testing.T) {
	t.Parallel()
	for range 3 {
		GiveBackMemory()
		if _, err := os.ReadFile("/proc/self/status"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMappingIsReadFromSmaps(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		m      mapping
		starts bool
	}{
		"00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus":    {mapping{0x400000, 0x452000, "/usr/bin/dbus"}, true},
		"00651000-00652000 rw-p 00051000 08:02 173521      /usr/bin/dbus":    {mapping{}, true}, // could hold what the file does not
		"7ffc1000-7ffc2000 r--p 00000000 00:00 0":                            {mapping{}, true}, // no file
		"00400000-00452000 r-xp 00000000 08:02 173521      /usr/my bin/dbus": {mapping{}, true}, // no telling where the path ends
		"00400000-00400000 r-xp 00000000 08:02 173521      /usr/bin/dbus":    {mapping{}, true},
		"zz400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus":    {mapping{}, true},
		"Anonymous:             0 kB":                                        {mapping{}, false},
		"VmFlags: rd ex mr mw me sd":                                         {mapping{}, false},
		"":                                                                   {mapping{}, false},
	} {
		if m, starts := parseMapping(line); m != want.m || starts != want.starts {
			t.Errorf("%q: %+v, %v; want %+v, %v", line, m, starts, want.m, want.starts)
		}
	}
}
