// Package doctor looks at everything that a supervised home depends on, and says what is wrong and which command mends it.
//
//	Env (roots, configuration, clock) ──► Checks ──► Run ──► []Finding: ok, warning or problem
//
// It promises: nothing is created or changed, but for one file that the test of the locks makes in tmp/ and removes; no
// check blocks for longer than its limit, whatever lies in the home; the order of the findings is that of the checks. A
// rule that the program itself follows is asked of the code that follows it, not written down again.
//
// It mends nothing: each finding that is not ok names the command for that.
package doctor
