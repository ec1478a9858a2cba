import type { CanaryGate, GateVerdict, RolloutCounts } from './rollout.ts';

/**
 * Judges a canary whose items are all chosen. Null while it may still turn out either way. Too many failures fail it
 * before its last item has ended. A limit that nothing can be measured by fails it: a gate must not pass unseen.
 */
export function judgeCanary(gate: CanaryGate, canary: RolloutCounts): GateVerdict | null {
  const { planned, running, done, failed } = canary;
  const share = failed / Math.max(1, planned + running + done + failed);
  const tooMany = share > gate.max_failure_share;
  if (planned + running > 0 && !tooMany) return null;
  const failures: string[] = [];
  if (tooMany)
    failures.push(
      `${failed} failed: a share of ${round(share)}, more than max_failure_share ${gate.max_failure_share}`,
    );
  if (done > 0) failures.push(...sizeFailures(gate, canary), ...scoreFailures(gate, canary));
  return { passed: failures.length === 0, failures };
}

function sizeFailures({ max_bytes_ratio: max }: CanaryGate, { bytesBefore, bytesAfter }: RolloutCounts): string[] {
  if (max === undefined) return [];
  if (bytesBefore === 0) return ['max_bytes_ratio: no earlier result has a known size; leave it out'];
  const ratio = bytesAfter / bytesBefore;
  return ratio > max ? [`bytes came to ${round(ratio)} of before, more than max_bytes_ratio ${max}`] : [];
}

function scoreFailures({ min_score: min }: CanaryGate, { scored, scoreSum }: RolloutCounts): string[] {
  if (min === undefined) return [];
  if (scored === 0) return ['min_score: no result has a score; give to_profile a `quality`'];
  const mean = scoreSum / scored;
  return mean < min ? [`the mean score is ${round(mean)}, less than min_score ${min}`] : [];
}

function round(value: number): number {
  return Number(value.toFixed(4));
}
