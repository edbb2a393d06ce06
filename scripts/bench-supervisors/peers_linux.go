package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// findPeers keeps the supervisors that are there, installs those that are not if it may, and says why one is left out.
func (b *bench) findPeers(ctx context.Context) {
	all := allEntrants()
	var missing []string
	for _, e := range all {
		if _, err := exec.LookPath(e.program); e.program != "" && err != nil && !slices.Contains(missing, e.pack) {
			missing = append(missing, e.pack)
		}
	}
	why := "is not installed (-install does it)"
	if len(missing) > 0 && b.install {
		b.say("installing %s", strings.Join(missing, ", "))
		if err := installPackages(ctx, missing); err != nil {
			why = fmt.Sprintf("cannot be installed: %v", err)
		}
	}
	for _, e := range all {
		if e.program != "" {
			if _, err := exec.LookPath(e.program); err != nil {
				b.say("SKIPPED %s: %s", e, why)
				continue
			}
			e.version = versionOf(ctx, e.pack)
		}
		b.entrants = append(b.entrants, e)
	}
}

func versionOf(ctx context.Context, pack string) string {
	out, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${Version}", pack).Output()
	if err != nil {
		return "version unknown"
	}
	return string(out)
}

// policyFile keeps Debian's packages from starting services when they are installed.
const policyFile = "/usr/sbin/policy-rc.d"

func installPackages(ctx context.Context, packs []string) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("only root may")
	}
	f, err := os.OpenFile(policyFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755) //nolint:gosec // it is to be executed
	switch {
	case err == nil:
		defer func() { err = errors.Join(err, os.Remove(policyFile)) }()
		_, err = f.WriteString("#!/bin/sh\nexit 101\n")
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrExist): // then somebody else's policy is in force
		return err
	}
	install := append([]string{"install", "-y", "--no-install-recommends"}, packs...)
	if aptGet(ctx, install) == nil {
		return nil
	}
	if err := aptGet(ctx, []string{"update"}); err != nil { // the lists of packages may be old, or not there
		return err
	}
	return aptGet(ctx, install)
}

func aptGet(ctx context.Context, args []string) error {
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	text, err := cmd.CombinedOutput()
	if err != nil {
		lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		return fmt.Errorf("apt-get %s: %w: %s", args[0], err, lines[len(lines)-1])
	}
	return nil
}
