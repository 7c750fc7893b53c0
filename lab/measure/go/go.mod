module arc-lab

go 1.19
