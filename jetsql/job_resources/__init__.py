"""Jobs and snapshots as resources of Kubernetes: a controller in the leading engine that runs their statements."""
