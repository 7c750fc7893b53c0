module arc-versus

go 1.19
