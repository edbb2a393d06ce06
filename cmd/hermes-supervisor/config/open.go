package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFile bounds the file. A configuration of a hundred agents has 50 KiB; the parser's work on a hostile one grows with
// the square of its size.
const maxFile = 128 << 10

// maxLinks is the bound of the kernels for one path.
const maxLinks = 40

// errMissing is a file that is not there, with nothing that points at it.
var errMissing = errors.New("no such file")

// read returns the text of a configuration file that nobody but the user (and root) can change: a regular file of
// theirs in a folder of theirs, reached directly or by links that lie in such folders. The error is one phrase.
func read(path string) (string, error) { return readOf(path, 0) }

// readOf is read where the user id as may change it too; 0: nobody else.
//
// Looking before opening keeps pipes and devices from being opened at all; the checks are made on the open file, so
// that a file exchanged in between is not what is read.
func readOf(path string, as int) (string, error) {
	path, err := follow(path, as)
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return "", cause(err)
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return "", cause(err)
	}
	if err := checkFile(path, info, as); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1)) // it may have grown
	if err != nil {
		return "", cause(err)
	}
	if len(text) > maxFile {
		return "", errTooLarge
	}
	return string(text), nil
}

var errTooLarge = fmt.Errorf("is larger than %d KiB", maxFile>>10)

// follow returns the file that path leads to, every folder and link on the way checked.
func follow(path string, as int) (string, error) {
	for links := range maxLinks {
		// Split and +, not Dir and Join, whose ".." undoes a name where the kernel goes up from what the name leads to.
		dir, name := filepath.Split(path)
		if dir == "" {
			dir = "."
		}
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return "", missing(fmt.Errorf("its folder cannot be reached: %w", cause(err)), links)
		}
		path = filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if err != nil {
			return "", missing(err, links)
		}
		if err := checkFolder(dir, links > 0, as); err != nil {
			return "", err
		}
		if info.Mode().Type() != fs.ModeSymlink {
			return path, checkFile(path, info, as)
		}
		target, err := os.Readlink(path)
		if err != nil {
			return "", cause(err)
		}
		if !filepath.IsAbs(target) {
			target = dir + string(os.PathSeparator) + target
		}
		path = target
	}
	return "", errors.New("leads through too many links")
}

// missing tells a file that is not there from a link that leads nowhere: whoever made the link wanted a configuration.
func missing(err error, links int) error {
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return cause(err)
	case links > 0:
		return errors.New("is a link that leads to no file")
	default:
		return errMissing
	}
}

func checkFile(path string, info fs.FileInfo, as int) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("is %s, not a regular file", kindOfFile(info.Mode()))
	}
	if info.Size() > maxFile {
		return errTooLarge
	}
	if problem := othersMayChange(info, as); problem != "" {
		return fmt.Errorf("%s%s", problem, remedy(info, path))
	}
	return nil
}

// checkFolder checks that nobody else can exchange the files of dir. In a sticky folder nobody can either, which is
// enough for a link's target (Nix keeps files in one), but not for the folder that was named: it also holds our key.
func checkFolder(dir string, linked bool, as int) error {
	info, err := os.Stat(dir)
	if err != nil {
		return cause(err)
	}
	if linked && info.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	if problem := othersMayChange(info, as); problem != "" {
		return fmt.Errorf("its folder %s %s%s", dir, problem, remedy(info, dir))
	}
	return nil
}

func kindOfFile(mode fs.FileMode) string {
	switch mode.Type() {
	case fs.ModeDir:
		return "a folder"
	case fs.ModeNamedPipe:
		return "a named pipe"
	case fs.ModeSocket:
		return "a socket"
	case fs.ModeSymlink:
		return "a link"
	case fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice:
		return "a device"
	default:
		return "something else"
	}
}

// cause strips the path, which the line begins with.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", pathErr.Op, pathErr.Err)
	}
	return err
}
