//go:build unix

package config

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestWhatOthersCanChangeIsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name         string
		folder, file os.FileMode
		want         func(dir, path string) string
	}{
		{"file writable by all", 0o700, 0o666, func(_, path string) string {
			return "can be written by others (mode 0666): chmod go-w " + path
		}},
		{"file writable by a group", 0o755, 0o660, func(_, path string) string {
			return "can be written by others (mode 0660): chmod go-w " + path
		}},
		{"folder writable by a group", 0o770, 0o600, func(dir, _ string) string {
			return "its folder " + dir + " can be written by others (mode 0770): chmod go-w " + dir
		}},
		{"sticky folder writable by all", 0o777 | os.ModeSticky, 0o600, func(dir, _ string) string {
			return "its folder " + dir + " can be written by others (mode 0777): chmod go-w " + dir
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			path := file(t, filepath.Join(dir, "hermes.toml"), "")
			mode(t, path, tc.file)
			mode(t, dir, tc.folder)
			refused(t, path, tc.want(dir, path))
		})
	}
}

func TestALinkIntoAnUnsafePlaceIsRefused(t *testing.T) {
	t.Parallel()
	dir, other := folder(t), folder(t)
	path := file(t, filepath.Join(other, "target"), "")
	named := link(t, path, filepath.Join(dir, "hermes.toml"))

	mode(t, other, 0o777)
	refused(t, named, "its folder "+other+" can be written by others (mode 0777): chmod go-w "+other)
	mode(t, other, 0o777|os.ModeSticky) // nobody else can exchange our file in it
	if _, err := Load(Source{Path: named}); err != nil {
		t.Error(err)
	}
	mode(t, path, 0o622)
	refused(t, named, "can be written by others (mode 0622): chmod go-w "+path)

	mode(t, path, 0o600)
	hop := link(t, named, filepath.Join(other, "hop"))
	mode(t, other, 0o700)
	first := link(t, hop, filepath.Join(dir, "first"))
	if _, err := Load(Source{Path: first}); err != nil {
		t.Error(err)
	}
	mode(t, other, 0o772)
	refused(t, first, "its folder "+other+" can be written by others (mode 0772): chmod go-w "+other)
}

func TestAFileOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	dir := folder(t)
	path := file(t, filepath.Join(dir, "hermes.toml"), "")
	if err := os.Chown(path, 12345, -1); err != nil {
		t.Fatal(err)
	}
	refused(t, path, "belongs to user id 12345, neither you nor root")
	if err := os.Chown(path, 0, -1); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Fatal(err)
	}
	refused(t, path, "its folder "+dir+" belongs to user id 12345, neither you nor root")
}

func TestWhatCouldBlockIsNotOpened(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, pipe, "is a named pipe, not a regular file")
	refused(t, link(t, pipe, filepath.Join(dir, "link")), "is a named pipe, not a regular file")
	refused(t, "/dev/null", "is a device, not a regular file")

	t.Run("socket", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(dir, "s")
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
		if err != nil {
			t.Skipf("no socket of this name: %v", err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		refused(t, path, "is a socket, not a regular file")
	})
}

// The look before the open can be overtaken; then the open itself must neither wait nor follow.
func TestAnOpenThatIsOvertakenNeitherWaitsNorFollows(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(pipe, openFlags, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if checkFile(pipe, info, 0) == nil {
		t.Error("a named pipe passes the check of the open file")
	}
	if f, err := os.OpenFile(link(t, file(t, filepath.Join(dir, "f"), ""), filepath.Join(dir, "l")), openFlags, 0); err == nil {
		_ = f.Close()
		t.Error("a link is followed")
	}
}

func TestAFileThatCannotBeReachedIsNotMissing(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	path := filepath.Join(file(t, filepath.Join(dir, "f"), ""), "hermes.toml")
	refused(t, path, "its folder cannot be reached: not a directory")
}

// TestAnotherUsersConfigurationIsReadInThatUsersNameOnly is install --system --as USER, by root.
func TestAnotherUsersConfigurationIsReadInThatUsersNameOnly(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make a file somebody else's")
	}
	const theirs = 65534
	dir := t.TempDir()
	path := filepath.Join(dir, "hermes.toml")
	if err := errors.Join(os.WriteFile(path, []byte("[agent.worker]\ncommand = [\"work\"]\n"), 0o600), os.Chown(path, theirs, -1), os.Chown(dir, theirs, -1)); err != nil {
		t.Fatal(err)
	}
	for owner, want := range map[int]bool{theirs: true, theirs - 1: false, 0: false} {
		c, err := LoadAsWritten(Source{Path: path, Explicit: true, Dir: dir, Owner: owner})
		if (err == nil) != want || (len(c.Agents) == 1) != want {
			t.Errorf("in the name of %d: %v, %v", owner, c.Agents, err)
		}
	}
}
