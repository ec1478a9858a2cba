-- Asks for URL_PREFIX .. n .. URL_SUFFIX with n going round from 1 to COUNT, and says at the end what came of it as JSON.
local prefix, suffix, count = os.getenv("URL_PREFIX"), os.getenv("URL_SUFFIX"), tonumber(os.getenv("COUNT"))
local n = tonumber(os.getenv("FIRST") or "0")
local authorizations = {}
for token in (os.getenv("TOKENS") or ""):gmatch("%S+") do
  authorizations[#authorizations + 1] = { Authorization = "Bearer " .. token }
end

function request()
  n = n % count + 1
  return wrk.format("GET", prefix .. n .. suffix, authorizations[n])
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"durationUs":%d,"bytes":%d,"p99Us":%d,"failed":%d}\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
