package fault

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var call = regexp.MustCompile(`fault\.At\("([^"]+)"\)`)

func TestEveryPointIsListedAndPassedSomewhere(t *testing.T) {
	t.Parallel()
	passed := map[string]int{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range call.FindAllStringSubmatch(string(src), -1) {
			passed[m[1]]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(Points, ServicePoints, HandoffPoints)
	for point := range passed {
		if !slices.Contains(all, point) {
			t.Errorf("point %q is passed but not listed", point)
		}
	}
	for _, point := range all {
		if passed[point] == 0 {
			t.Errorf("point %q is listed but never passed", point)
		}
	}
}
