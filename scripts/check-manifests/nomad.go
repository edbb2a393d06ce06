package main

import (
	"errors"
	"slices"

	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// words are the attributes and blocks of Nomad's job specification that our job uses, by the block they may stand in: as its
// documentation has them, since its own parser is no free software.
var words = map[string][]string{
	"":              {"job"},
	"job":           {"type", "group", "datacenters", "namespace", "region"},
	"group":         {"count", "disconnect", "restart", "volume", "task", "network", "update"},
	"disconnect":    {"lost_after", "replace", "reconcile", "stop_on_client_after"},
	"restart":       {"attempts", "interval", "delay", "mode", "render_templates"},
	"volume":        {"type", "source", "read_only", "access_mode", "attachment_mode", "per_alloc", "sticky"},
	"task":          {"driver", "user", "config", "kill_signal", "kill_timeout", "volume_mount", "env", "template", "service", "resources", "leader", "lifecycle"},
	"config":        {"image", "args", "entrypoint", "command", "init", "readonly_rootfs", "cap_drop", "cap_add", "security_opt", "mount", "volumes", "pid_mode", "privileged"},
	"mount":         {"type", "target", "source", "readonly", "tmpfs_options"},
	"volume_mount":  {"volume", "destination", "read_only", "propagation_mode"},
	"template":      {"data", "destination", "source", "change_mode", "change_signal", "perms", "uid", "gid", "env", "splay", "left_delimiter", "right_delimiter"},
	"service":       {"name", "provider", "check", "port", "tags", "task"},
	"check":         {"name", "type", "command", "args", "interval", "timeout", "check_restart", "on_update", "task"},
	"check_restart": {"limit", "grace", "ignore_warnings"},
	"resources":     {"cpu", "cores", "memory", "memory_max"},
}

// nomad parses the job and looks for words that stand where they are not known. Variables of a task (env) are its own.
func nomad(file string) error {
	parsed, diags := hclparse.NewParser().ParseHCLFile(file)
	if diags.HasErrors() {
		return diags
	}
	var w want
	seen := map[string]bool{}
	body, native := parsed.Body.(*hclsyntax.Body)
	if !native {
		return errors.New("is not in HCL's own syntax")
	}
	known("", body, &w, seen)
	for _, name := range []string{"kill_timeout", "kill_signal", "volume_mount", "check", "check_restart", "disconnect"} {
		w.that(seen[name], "no %s", name)
	}
	return w.err()
}

func known(block string, body *hclsyntax.Body, w *want, seen map[string]bool) {
	may, ok := words[block]
	w.that(ok, "the block %s is not known", block)
	for name, attr := range body.Attributes {
		seen[name] = true
		w.that(slices.Contains(may, name), "line %d: %s has no %s", attr.SrcRange.Start.Line, block, name)
	}
	for _, b := range body.Blocks {
		seen[b.Type] = true
		w.that(slices.Contains(may, b.Type), "line %d: %s has no %s", b.TypeRange.Start.Line, block, b.Type)
		if b.Type != "env" {
			known(b.Type, b.Body, w, seen)
		}
	}
}
