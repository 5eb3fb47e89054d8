"""CREATE JOB: the checks before it, the job, and the version that replaces one."""
