# Medians of the rounds of one workload: lines of workload, runtime, round, wall and CPU time.

{ wall[$2, $3] = $4; cpu[$2, $3] = $5; workload = $1 }

# Sorts values[1] to values[rounds]; gives the one in the middle, or the mean of the two there.
function median(values,    at, to, value) {
  for (at = 2; at <= rounds; at++) {
    value = values[at]
    for (to = at; to > 1 && values[to - 1] > value; to--) values[to] = values[to - 1]
    values[to] = value
  }
  return (values[int((rounds + 1) / 2)] + values[int((rounds + 2) / 2)]) / 2
}

function shown(nanoseconds) {
  if (nanoseconds < 1e4) return sprintf("%.0f ns", nanoseconds)
  if (nanoseconds < 1e7) return sprintf("%.1f us", nanoseconds / 1e3)
  return sprintf("%.1f ms", nanoseconds / 1e6)
}

function ratio(kind, peer,    at) {
  for (at = 1; at <= rounds; at++) ratios[at] = kind["arc", at - 1] / kind[peer, at - 1]
  return median(ratios)
}

END {
  count = split(names, name, " ")
  for (at = 1; at <= rounds; at++) times[at] = wall["arc", at - 1]
  printf "%-34s %10s", workload, shown(median(times))
  for (peer = 2; peer <= count; peer++) {
    if (peer > 2) printf "%45s", ""
    cpu_ratio = ratio(cpu, name[peer])
    middle = ratio(wall, name[peer])
    printf "  %-6s %.2f (%.2f to %.2f), CPU %.2f\n", name[peer], middle, ratios[1], ratios[rounds], cpu_ratio
  }
  if (count == 1) print ""
}
