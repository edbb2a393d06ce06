module hermes-supervisor

go 1.26.5

require (
	github.com/BurntSushi/toml v1.6.0
	github.com/anishathalye/porcupine v1.3.1
	github.com/coder/websocket v1.8.15 // tests: the other end of what supervise/serve speaks, and not ours
	github.com/fsnotify/fsnotify v1.10.1
	github.com/gofrs/flock v0.13.2
	github.com/google/go-cmp v0.7.0
	github.com/hinshun/vt10x v0.0.0-20220301184237-5011da428d02 // tests: what a terminal shows of status --watch
	github.com/rogpeppe/go-internal v1.16.0
	github.com/shirou/gopsutil/v4 v4.26.10
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.9 // cobra's flags, by their type
	github.com/tailscale/hujson v0.0.0-20260727124030-b80ff77dac4f // agents' settings in JSON with comments, edited and given back byte for byte
	go.yaml.in/yaml/v3 v3.0.6 // Hermes's settings, likewise
	golang.org/x/sys v0.50.0
	golang.org/x/text v0.44.0 // how wide a character is in status --watch
	howett.net/plist v1.0.1 // tests: a reader of property lists that is not ours
	pgregory.net/rapid v1.3.0
)

require (
	github.com/ebitengine/purego v0.11.2 // indirect
	github.com/go-ole/go-ole v1.2.6 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/lufia/plan9stats v0.0.0-20211012122336-39d0f177ccd0 // indirect
	github.com/power-devops/perfstat v0.0.0-20260805114148-88456608a4f6 // indirect
	github.com/tklauser/go-sysconf v0.4.0 // indirect
	github.com/tklauser/numcpus v0.12.0 // indirect
	github.com/yusufpapurcu/wmi v1.2.4 // indirect
	golang.org/x/tools v0.52.0 // indirect
)
