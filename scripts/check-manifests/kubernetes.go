package main

import (
	"fmt"
	"os"

	"github.com/yannh/kubeconform/pkg/validator"
)

// versions of Kubernetes for which the manifest has to be right: the oldest that has ReadWriteOncePod for good, and the newest
// of which there are schemas.
var versions = []string{"1.29.0", "1.37.0"}

// kubernetes validates each document, with unknown fields forbidden.
func kubernetes(schemas, file string) error {
	var w want
	for _, version := range versions {
		v, err := validator.New([]string{schemas + "/v" + version + "-local-strict/{{ .ResourceKind }}{{ .KindSuffix }}.json"},
			validator.Opts{KubernetesVersion: version, Strict: true})
		if err != nil {
			return err
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		results := v.Validate(file, f) // which closes it
		valid := 0
		for _, r := range results {
			if r.Status == validator.Empty {
				continue
			}
			sig, err := r.Resource.Signature()
			name := "a document"
			if err == nil {
				name = fmt.Sprintf("%s %s", sig.Kind, sig.Name)
			}
			w.that(r.Status == validator.Valid, "Kubernetes %s: %s: %v", version, name, r.Err)
			if r.Status == validator.Valid {
				valid++
			}
		}
		w.that(valid == 3, "Kubernetes %s: %d documents are valid, not 3", version, valid)
	}
	return w.err()
}
