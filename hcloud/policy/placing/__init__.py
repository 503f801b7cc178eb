"""Which server a job goes to: who fits whom, the rankings, and what a sample of servers promises."""
