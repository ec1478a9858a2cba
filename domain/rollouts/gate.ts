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

function scoreFailures({ min_score: min, max_score_drop: dropMax }: CanaryGate, counts: RolloutCounts): string[] {
  const failures: string[] = [];
  const { scored, scoreSum, compared, comparedBeforeSum, comparedAfterSum } = counts;
  if (min !== undefined) {
    const mean = scoreSum / scored;
    if (scored === 0) failures.push('min_score: no result has a score; give to_profile a `quality`');
    else if (mean < min) failures.push(`the mean score is ${round(mean)}, less than min_score ${min}`);
  }
  if (dropMax !== undefined) {
    const drop = (comparedBeforeSum - comparedAfterSum) / compared;
    if (compared === 0)
      failures.push('max_score_drop: no media has a score before and after; use min_score, or leave it out');
    else if (drop > dropMax)
      failures.push(`the mean score fell by ${round(drop)}, more than max_score_drop ${dropMax}`);
  }
  return failures;
}

function round(value: number): number {
  return Number(value.toFixed(4));
}
