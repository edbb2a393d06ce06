//go:build !linux

package fsstate

import "os"

// eachName visits the names in a directory, in no order. A name is good while it is visited.
func eachName(dir *os.File, visit func(name []byte)) error {
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		visit([]byte(name))
	}
	return err
}
