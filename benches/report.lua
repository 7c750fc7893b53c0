-- Makes wrk print what the other load generators do: one line of JSON, latencies
-- in microseconds.
done = function(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '{"answers":%d,"errors":%d,"seconds":%.6f,"mean":%.3f,"p50":%d,"p99":%d,"p999":%d}\n',
    summary.requests,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    summary.duration / 1e6,
    latency.mean,
    latency:percentile(50),
    latency:percentile(99),
    latency:percentile(99.9)))
end
