-- Submits jobs that are all different: BODY with "%d" for a number that no other run of this process's time has.
local body, key = os.getenv("BODY"), os.getenv("API_KEY")
local headers = { ["Content-Type"] = "application/json", ["X-API-Key"] = key }
local n = 0

function request()
  n = n + 1
  return wrk.format("POST", "/api/jobs", headers, (body:gsub("%%d", n)))
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"durationUs":%d,"bytes":%d,"p99Us":%d,"failed":%d}\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
