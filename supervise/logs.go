package supervise

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"hermes-supervisor/supervise/output"
	"hermes-supervisor/supervise/process"
)

const busySweep = time.Second // between two looks at outputs of which one grows

// logSweep archives the output of all services, beside the loop: copying may take long.
type logSweep struct {
	log  *slog.Logger
	mu   sync.Mutex
	logs map[string]sweptLog
}

type sweptLog struct {
	*output.Log

	bound int64
}

func newLogSweep(log *slog.Logger) *logSweep { return &logSweep{log: log, logs: map[string]sweptLog{}} }

func (s *logSweep) add(key string, log *output.Log, bound int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs[key] = sweptLog{log, bound}
}

func (s *logSweep) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.logs, key)
}

func (s *logSweep) all() []sweptLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]sweptLog, 0, len(s.logs))
	for _, log := range s.logs {
		all = append(all, log)
	}
	return all
}

func (s *logSweep) run(ctx context.Context) {
	wait := time.NewTimer(busySweep)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		next := rescan
		for _, log := range s.all() {
			grew, err := log.Sweep(log.bound)
			if err != nil {
				s.log.Warn("output not archived", "error", err.Error())
			}
			if grew {
				next = busySweep
			}
		}
		if next == rescan {
			process.GiveBackPages() // what this and the rescan beside it ran through
		}
		wait.Reset(next)
	}
}
