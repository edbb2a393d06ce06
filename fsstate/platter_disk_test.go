package fsstate

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"
)

// open is openDisk on the platter. What lies above its folder is taken as durable.
func (p *platter) open(dir string) (disk, error) {
	d, err := openDisk(dir)
	if err != nil {
		return nil, err
	}
	return &platterDisk{disk: d, p: p, dir: p.rel(dir)}, nil
}

// platterDisk is one folder of a platter.
type platterDisk struct {
	disk // the real one

	p   *platter
	dir string
}

// do runs one operation, or the trouble that is planned for it.
func (d *platterDisk) do(act func() error) error {
	p := d.p
	p.ops++
	if p.at > 0 && (p.ops == p.at && !p.trouble.late || p.ops > p.at && p.trouble.final) {
		return p.trouble.err
	}
	err := act()
	if p.ops != p.at || !p.trouble.late {
		return err
	}
	if err != nil {
		p.at++ // this one fails without us
		return err
	}
	return p.trouble.err
}

func (d *platterDisk) name(name string) string { return path.Join(d.dir, name) }

func (d *platterDisk) Open(name string, flag int, perm fs.FileMode) (f *os.File, err error) {
	err = d.do(func() error {
		if f, err = d.disk.Open(name, flag, perm); err != nil {
			return err
		}
		node := d.p.live[d.name(name)]
		if node == nil && flag&os.O_CREATE != 0 {
			node = &inode{}
			d.p.change(change{to: d.name(name), what: node})
		}
		if node == nil {
			node = &inode{} // made behind the model's back: a lock file
		}
		d.p.files[f] = node
		return nil
	})
	if err != nil && f != nil {
		_ = f.Close()
		f = nil
	}
	return f, err
}

// Write models files that are written once, from the start: all that the store makes durable are.
func (d *platterDisk) Write(f *os.File, data []byte) (n int, err error) {
	write := func(data []byte) error {
		n, err = d.disk.Write(f, data)
		node := d.p.files[f]
		node.content = append(slices.Clone(node.content), data[:n]...)
		return err
	}
	err = d.do(func() error { return write(data) })
	if errors.Is(err, io.ErrShortWrite) {
		return n, write(data[:len(data)/2])
	}
	return n, err
}

func (d *platterDisk) Sync(f *os.File) error {
	node := d.p.files[f]
	err := d.do(func() error {
		if !node.lost {
			node.synced = slices.Clone(node.content)
		}
		return nil
	})
	node.lost = node.lost || err != nil
	return err
}

func (d *platterDisk) CloseFile(f *os.File) error {
	defer delete(d.p.files, f)
	return errors.Join(d.do(func() error { return nil }), d.disk.CloseFile(f))
}

func (d *platterDisk) Mkdir(name string, perm fs.FileMode) error {
	return d.do(func() error {
		err := d.disk.Mkdir(name, perm)
		if err == nil {
			d.p.change(change{to: d.name(name), what: &inode{dir: true}})
		}
		return err
	})
}

func (d *platterDisk) Rename(from, to string) error {
	return d.do(func() error {
		err := d.disk.Rename(from, to)
		if err == nil {
			d.p.change(change{from: d.name(from), to: d.name(to), what: d.p.live[d.name(from)]})
		}
		return err
	})
}

func (d *platterDisk) Remove(name string) error {
	return d.do(func() error {
		err := d.disk.Remove(name)
		if err == nil {
			d.p.change(change{from: d.name(name)})
		}
		return err
	})
}

func (d *platterDisk) SyncDir(name string) error {
	return d.do(func() error { d.p.syncDir(d.name(name)); return nil })
}

func (d *platterDisk) Lstat(name string) (info fs.FileInfo, err error) {
	err = d.do(func() error { info, err = d.disk.Lstat(name); return err })
	return info, err
}

func (d *platterDisk) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = d.do(func() error { entries, err = d.disk.ReadDir(name); return err })
	return entries, err
}

func (d *platterDisk) Each(name string, visit func(name []byte)) (err error) {
	err = d.do(func() error { return d.disk.Each(name, visit) })
	return err
}

func (d *platterDisk) Touch(name string, mtime time.Time) error {
	return d.do(func() error { return d.disk.Touch(name, mtime) })
}

func (d *platterDisk) Trusted() (bool, string, error) { return true, "model", nil }
