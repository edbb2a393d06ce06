package fsstate

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// transition is a row of durable steps, and a way to see how many of them can be seen.
type transition struct {
	name    string
	cold    bool // the first step opens the store itself
	prepare func(w *world) error
	steps   []func(w *world) error
	// seen gives the number of the steps that have happened, as a reader sees it, or an error for what no step ever
	// wrote. It is asked in a world that was opened for reading.
	seen func(w *world) (int, error)
	// repeated marks a transition whose caller finds by itself that it must be repeated.
	repeated bool
	// long rows are made of steps that others examine one by one: here the ends of processes matter, not the errors.
	long bool
	// quiet transitions end with something that may fail without a word: what it leaves counts for nothing.
	quiet bool
	// spare folder syncs matter only where the folder's maker was killed before its own.
	spare int
}

// world is a home on a platter, and the process that works there.
type world struct {
	p     *platter
	wrap  func(disk) disk // a fault in the store itself, to see whether the tests find it
	home  Home
	store *Store
	key   []byte // what LoadKey gave
}

func newWorld(root string, wrap func(disk) disk) (*world, error) {
	p, err := newPlatter(root)
	home := filepath.Join(root, "home")
	return &world{p: p, wrap: wrap, home: Home{Path: home, Root: home}}, err
}

func (w *world) disk(dir string) (disk, error) {
	d, err := w.p.open(dir)
	if err != nil || w.wrap == nil {
		return d, err
	}
	return w.wrap(d), nil
}

func (w *world) open(create bool) (err error) {
	w.close()
	w.store, err = open(w.home, Options{UnsafeFilesystem: true}, create, w.disk)
	return err
}

func (w *world) close() {
	if w.store != nil {
		_ = w.store.Close()
		w.store = nil
	}
}

func (w *world) files() TurnFiles { return TurnFiles{Store: w.store, Key: turnKey} }

// boot puts an image on the platter and looks at it: how many steps happened?
func (tr transition) boot(before *world, im image) (*world, int, error) {
	if err := im.lay(before.p.root); err != nil {
		return nil, 0, err
	}
	w, err := newWorld(before.p.root, before.wrap)
	if err != nil {
		return nil, 0, err
	}
	w.key = before.key
	n, err := tr.look(w)
	return w, n, err
}

func (tr transition) look(w *world) (int, error) {
	if err := w.open(false); errors.Is(err, fs.ErrNotExist) {
		return 0, nil // not even the folder
	} else if err != nil {
		return 0, err
	}
	return tr.seen(w)
}

func (p *platter) makeHome(w *world) error {
	d, err := p.open(p.root)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Mkdir("home", 0o700); err != nil {
		return err
	}
	return w.open(true)
}

// first is the medium before the first step.
func (tr transition) first(root string) (image, error) {
	w, err := newWorld(root, nil)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if !tr.cold {
		if err := w.p.makeHome(w); err != nil {
			return nil, err
		}
	}
	if tr.prepare != nil {
		if err := tr.prepare(w); err != nil {
			return nil, fmt.Errorf("prepare: %w", err)
		}
	}
	return w.p.images(nil, 0)[1], nil
}

// run takes the steps from the given one on, and gives how many were acknowledged.
func (tr transition) run(w *world, from int) (acked int, err error) {
	for i, step := range tr.steps[from:] {
		if err := step(w); err != nil {
			return from + i, fmt.Errorf("step %d: %w", from+i+1, err)
		}
	}
	return len(tr.steps), nil
}
