# One supervisor with its home, for Nomad with the docker driver: nomad job run scripts/container/nomad.hcl
#
# On the client: a host volume on a local disk that belongs to uid 10001, and a longer stop than the 30 s it else allows:
#
#   client {
#     max_kill_timeout = "120s"
#     host_volume "hermes" { path = "/srv/hermes" }
#   }
job "hermes-supervisor" {
  type = "service"

  group "hermes" {
    count = 1 # one supervisor for a home: the volume below is of one machine

    # A client that is out of reach may still run its agents: no second copy elsewhere.
    disconnect {
      lost_after = "24h"
      replace    = false
    }

    restart {
      attempts = 3
      interval = "10m"
      delay    = "5s"
      mode     = "delay"
    }

    # Host volumes are local file systems, whose locks hold. Of CSI volumes take those of a block device, with access mode
    # single-node-writer: on NFS a home is refused without --unsafe-filesystem.
    volume "data" {
      type      = "host"
      source    = "hermes"
      read_only = false
    }

    task "supervisor" {
      driver = "docker"
      user   = "10001:10001"

      config {
        image           = "hermes-supervisor:0.1.0" # scripts/container/Dockerfile, with your agents on top
        args            = ["run"]
        init            = false # the supervisor is PID 1, and reaps
        readonly_rootfs = true
        cap_drop        = ["all"]
        security_opt    = ["no-new-privileges"]

        mount {
          type   = "tmpfs"
          target = "/tmp"
        }
      }

      # Above everything that an ordered stop may take: 75 s of hermes-gateway, with turns and handoffs beside it.
      kill_signal  = "SIGTERM"
      kill_timeout = "120s"

      volume_mount {
        volume      = "data"
        destination = "/data"
      }

      # Copied from there at the start: see scripts/container/start.
      env {
        HERMES_SUPERVISOR_CONFIG_FROM = "${NOMAD_TASK_DIR}/hermes.toml"
      }

      template {
        destination = "local/hermes.toml"
        change_mode = "restart"
        data        = <<-EOF
          [agent.hermes]

          [[service]]
          preset = "hermes-gateway"
          profiles = "all"
        EOF
      }

      # Consul's: the services that Nomad keeps itself have no script checks.
      service {
        name     = "hermes-supervisor"
        provider = "consul"

        check {
          name     = "alive"
          type     = "script"
          command  = "hermes-supervisor"
          args     = ["status", "--health"]
          interval = "30s"
          timeout  = "10s"

          check_restart {
            limit = 3
            grace = "2m"
          }
        }

        check {
          name      = "ready"
          type      = "script"
          command   = "hermes-supervisor"
          args      = ["status", "--health=ready"]
          interval  = "30s"
          timeout   = "10s"
          on_update = "ignore"
        }
      }

      resources {
        cpu    = 250
        memory = 4096
      }
    }
  }
}
