package fsstate

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// platter is a model of what lies on the medium while a process works in a real folder. It promises no more than POSIX
// does, which is less than any of ext4, xfs and btrfs: a file's content is durable after its fsync, a name (made, moved
// or removed) after the fsync of its folder, a rename in one piece, and what was not synced in any order, in part, or
// not at all. Syncs are only noted, never done, so that thousands of them cost nothing.
type platter struct {
	root    string            // the real folder; all names are relative to it
	live    map[string]*inode // what processes see
	durable map[string]*inode // names that a power loss leaves
	pending []change          // names that it may leave, in the order in which they were changed
	files   map[*os.File]*inode

	trouble trouble
	at, ops int // trouble comes at operation at, 0 = never
}

// inode is a file or a folder, whatever its names are.
type inode struct {
	dir     bool
	content []byte // as written
	synced  []byte // as a power loss leaves it for sure
	lost    bool   // a sync failed: the kernel has forgotten the pages, and a later sync succeeds without effect
}

// change is a name that is made (from ""), moved, or removed (to "").
type change struct {
	from, to string
	what     *inode
}

// trouble is what happens at one operation.
type trouble struct {
	name  string
	err   error
	late  bool // the operation takes effect all the same
	final bool // and nothing after it works either: the process or the machine has ended
}

var (
	errEnded  = errors.New("the process has ended")
	powerLoss = trouble{name: "power loss", err: errEnded, final: true}
)

// newPlatter begins with what lies in a folder, all of it durable.
func newPlatter(root string) (*platter, error) {
	p := &platter{root: root, live: map[string]*inode{}, files: map[*os.File]*inode{}}
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err != nil || file == root {
			return err
		}
		node := &inode{dir: e.IsDir()}
		if !node.dir {
			if node.content, err = os.ReadFile(file); err != nil {
				return err
			}
			node.synced = node.content
		}
		p.live[p.rel(file)] = node
		return nil
	})
	p.durable = maps.Clone(p.live)
	return p, err
}

func (p *platter) rel(file string) string {
	rel, err := filepath.Rel(p.root, file)
	if err != nil {
		panic(err)
	}
	return filepath.ToSlash(rel)
}

// plan makes operation n, counted from now, fail; n 0: none.
func (p *platter) plan(tr trouble, n int) { p.trouble, p.at, p.ops = tr, n, 0 }

// met tells whether the planned operation came.
func (p *platter) met() bool { return p.at > 0 && p.ops >= p.at }

func (p *platter) change(c change) {
	p.pending = append(p.pending, c)
	c.applyTo(p.live)
}

func (c change) applyTo(names map[string]*inode) {
	if c.from != "" {
		delete(names, c.from)
	}
	if c.to != "" {
		names[c.to] = c.what
	}
}

func (c change) touches(name string) bool { return name != "" && (name == c.from || name == c.to) }

// closed adds to a choice of pending changes the earlier ones on which they build: those of the same names.
func (p *platter) closed(chosen []bool) []bool {
	for i, c := range slices.Backward(p.pending) {
		if !chosen[i] {
			continue
		}
		for j := range i {
			if p.pending[j].touches(c.from) || p.pending[j].touches(c.to) {
				chosen[j] = true
			}
		}
	}
	return chosen
}

// syncDir makes the names in a folder durable.
func (p *platter) syncDir(dir string) {
	chosen := make([]bool, len(p.pending))
	for i, c := range p.pending {
		chosen[i] = c.from != "" && path.Dir(c.from) == dir || c.to != "" && path.Dir(c.to) == dir
	}
	chosen = p.closed(chosen)
	var left []change
	for i, c := range p.pending {
		if chosen[i] {
			c.applyTo(p.durable)
		} else {
			left = append(left, c)
		}
	}
	p.pending = left
}

// image is one state in which a power loss may leave the medium.
type image map[string]*inode

// images are the plausible ones: of the names that were not synced none, all, each one alone, or a random choice, each
// with the content that was not synced lost, there, or torn. The second is also what a mere end of the process leaves.
func (p *platter) images(rng *rand.Rand, random int) []image {
	none, all := make([]bool, len(p.pending)), make([]bool, len(p.pending))
	for i := range all {
		all[i] = true
	}
	lost := func(n *inode) []byte { return n.synced }
	there := func(n *inode) []byte { return n.content }
	torn := func(n *inode) []byte { return n.torn(rng) }
	states := []image{p.image(none, lost), p.image(all, there), p.image(all, lost), p.image(all, torn), p.image(none, there)}
	for i := range p.pending {
		alone := make([]bool, len(p.pending))
		alone[i] = true
		states = append(states, p.image(p.closed(alone), there))
	}
	for range random {
		chosen := make([]bool, len(p.pending))
		for i := range chosen {
			chosen[i] = rng.IntN(2) == 0
		}
		states = append(states, p.image(p.closed(chosen), torn))
	}
	return states
}

func (p *platter) image(chosen []bool, content func(*inode) []byte) image {
	names := maps.Clone(p.durable)
	for i, c := range p.pending {
		if chosen[i] {
			c.applyTo(names)
		}
	}
	im := image{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if dir := path.Dir(name); dir != "." && im[dir] == nil {
			continue // nothing leads there any more
		}
		node := names[name]
		im[name] = &inode{dir: node.dir}
		if !node.dir {
			im[name].content = content(node)
		}
	}
	return im
}

// torn is content as a power loss in the middle of writing it back leaves it: cut short, or of the right length and
// zeros from somewhere on, as xfs may leave it.
func (n *inode) torn(rng *rand.Rand) []byte {
	if bytes.Equal(n.content, n.synced) {
		return n.content
	}
	cut := rng.IntN(len(n.content) + 1)
	switch rng.IntN(4) {
	case 0:
		return n.synced
	case 1:
		return n.content
	case 2:
		return n.content[:cut]
	}
	return append(slices.Clone(n.content[:cut]), make([]byte, len(n.content)-cut)...)
}

// String tells two images apart; random names in tmp/ do not.
func (im image) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(im)) {
		shown := name
		if path.Base(path.Dir(name)) == string(Tmp) {
			shown = path.Dir(name) + "/*"
		}
		b.WriteString(shown)
		b.WriteByte(0)
		b.Write(im[name].content)
		b.WriteByte(0)
	}
	return b.String()
}

// lay turns a platter's folder into an image, as the next boot finds it. What is there already stays, which is faster.
func (im image) lay(root string) error {
	there := map[string]bool{}
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err != nil || file == root {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		switch node := im[name]; {
		case node == nil && e.IsDir():
			if err := os.RemoveAll(file); err != nil {
				return err
			}
			return fs.SkipDir
		case node == nil:
			return os.Remove(file)
		case !node.dir:
			content, err := os.ReadFile(file)
			there[name] = bytes.Equal(content, node.content)
			return err
		}
		there[name] = true
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(im)) {
		var err error
		switch file := filepath.Join(root, filepath.FromSlash(name)); {
		case there[name]:
		case im[name].dir:
			err = os.Mkdir(file, 0o700)
		default:
			err = os.WriteFile(file, im[name].content, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
