package fsstate

// UntrustedError is a file system on which locks do not hold for sure: two supervisors could run the same turn.
type UntrustedError struct {
	Path string
	Type string // its name, or its magic number in hex
}

func (e *UntrustedError) Error() string {
	return "open " + e.Path + ": locks are not trusted on file system " + e.Type + " (--unsafe-filesystem overrides)"
}

// trust refuses a disk whose locks are not trusted, unless the options say otherwise.
func trust(d disk, path string, o Options) (bool, error) {
	ok, name, err := d.Trusted()
	if err != nil {
		return false, err
	}
	if !ok && !o.UnsafeFilesystem {
		return false, &UntrustedError{Path: path, Type: name}
	}
	return ok, nil
}
