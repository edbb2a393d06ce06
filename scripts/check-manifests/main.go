// Command check-manifests reads what the repository has for others to read, by the parsers of those others: the Kubernetes
// manifest by kubeconform and Kubernetes's own schemas, the Dockerfile by BuildKit, the workflows by actionlint, the Nomad job
// by HCL's parser and the words that Nomad documents.
//
//	go run . SCHEMAS ROOT
//
// SCHEMAS is a folder of JSON schemas of Kubernetes, a folder for each version. Exit code 0: nothing was found.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: check-manifests SCHEMAS ROOT")
		os.Exit(2)
	}
	schemas, root := os.Args[1], os.Args[2]
	in := func(file string) string { return filepath.Join(root, filepath.FromSlash(file)) }
	bad := 0
	for _, check := range []struct {
		what string
		run  func() error
	}{
		{"scripts/container/kubernetes.yaml", func() error { return kubernetes(schemas, in("scripts/container/kubernetes.yaml")) }},
		{"scripts/container/Dockerfile", func() error { return dockerfile(in("scripts/container/Dockerfile")) }},
		{"scripts/container/nomad.hcl", func() error { return nomad(in("scripts/container/nomad.hcl")) }},
		{".github/workflows", func() error { return workflows(in(".github/workflows")) }},
	} {
		err := check.run()
		if err == nil {
			fmt.Fprintf(os.Stdout, "ok    %s\n", check.what)
			continue
		}
		bad++
		fmt.Fprintf(os.Stdout, "FAIL  %s\n%v\n", check.what, err)
	}
	if bad > 0 {
		os.Exit(1)
	}
}

// want collects what a file lacks.
type want []error

func (w *want) that(ok bool, format string, args ...any) {
	if !ok {
		*w = append(*w, fmt.Errorf("      "+format, args...))
	}
}

func (w want) err() error { return errors.Join(w...) }
