import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { findProgram } from './servers.ts';

// Alerts as Prometheus evaluates them, by its own `promtool test rules`.

/** null without one on this machine: suites then use `describe.skipIf(promtool === null)`. */
export const promtool = findProgram('promtool');

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  /** Such as `10m`; whole minutes. */
  readonly for: string;
}

/** The value of each series, by its name with labels, at three times. */
export interface Samples {
  readonly start: ReadonlyMap<string, number>;
  readonly healthy: ReadonlyMap<string, number>;
  readonly faulty: ReadonlyMap<string, number>;
}

/** Half an hour in which all is well comes before the fault. */
const healthyMinutes = 30;
/** The longest range that an alert looks back, and one evaluation. */
const rangeMinutes = 16;

/**
 * Evaluates an alert every minute: over half an hour in which every minute is like the time up to `healthy`, and then
 * over minutes that are like the time from there to `faulty`. The alert must not fire in the first part, nor before its
 * `for` has passed, and must fire then.
 *
 * @returns promtool's complaint, empty without one
 */
export function tryAlert(rule: AlertRule, samples: Samples): string {
  const forMinutes = Number.parseInt(rule.for, 10);
  const faultyMinutes = forMinutes + rangeMinutes;
  const names = new Set([...samples.healthy.keys(), ...samples.faulty.keys()]);
  const series = [...names].map((name) => ({ series: name, values: valuesOf(name, samples, faultyMinutes) }));
  const fires = (minute: number, expected: boolean) => ({
    expr: `count(ALERTS{alertname="${rule.alert}",alertstate="firing"}) > bool 0`,
    eval_time: `${minute}m`,
    exp_samples: expected ? [{ labels: '{}', value: 1 }] : [],
  });
  const expectations = [
    fires(healthyMinutes, false),
    fires(healthyMinutes + forMinutes, false),
    fires(healthyMinutes + faultyMinutes, true),
  ];
  return runPromtool(rule, [{ interval: '1m', input_series: series, promql_expr_test: expectations }]);
}

/** The series that promtool reads as one sample a minute. */
function valuesOf(name: string, { start, healthy, faulty }: Samples, faultyMinutes: number): string {
  const [first, second, third] = [start.get(name) ?? 0, healthy.get(name), faulty.get(name)];
  const before = healthyMinutes + 1;
  if (!/_(?:total|bucket|sum|count)(?:\{|$)/.test(name))
    return [constant(second, before), constant(third, faultyMinutes)].join(' ');
  const rate = (second ?? first) - first;
  const reached = rate * healthyMinutes;
  const fault = (third ?? 0) - (second ?? 0);
  const after = `${reached + fault}+${fault}x${faultyMinutes - 1}`;
  return `${second === undefined ? constant(second, before) : `0+${rate}x${healthyMinutes}`} ${after}`;
}

function constant(value: number | undefined, minutes: number): string {
  return value === undefined ? `_x${minutes}` : `${value}+0x${minutes - 1}`;
}

function runPromtool(rule: AlertRule, tests: readonly object[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'reelwright-alerts-'));
  try {
    writeFileSync(join(folder, 'rules.yaml'), stringify({ groups: [{ name: 'reelwright', rules: [rule] }] }));
    const file = join(folder, 'test.yaml');
    writeFileSync(file, stringify({ rule_files: ['rules.yaml'], evaluation_interval: '1m', tests }));
    const { status, stdout, stderr } = spawnSync(promtool ?? '', ['test', 'rules', file], { encoding: 'utf8' });
    return status === 0 ? '' : `${stdout}${stderr}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
