import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';

/** Amounts by resource, as Kubernetes writes them: `500m`, `4Gi`. */
export type Amounts = Readonly<Record<string, string | number>>;

const suffixes: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** A quantity of Kubernetes as a number. */
function numberOf(quantity: string | number): number {
  const [, number = '', suffix = ''] = /^([\d.]+(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(String(quantity)) ?? [];
  return Number(number) * (suffixes[suffix] ?? 1);
}

/** The requests of a pod of a pool: its steps follow one another, and a limit without a request is one. */
export function requestsOf({ resources, scratch }: Pick<RunnerPoolSpec, 'resources' | 'scratch'>): Amounts {
  const storage = scratch?.request === undefined ? {} : { 'ephemeral-storage': scratch.request };
  return { ...resources?.limits, ...storage, ...resources?.requests };
}

/** The first resource of which a pod asks for more than there is. */
export function tooLittle(requests: Amounts, available: Amounts): string | undefined {
  return Object.keys(requests).find((name) => numberOf(requests[name] ?? 0) > numberOf(available[name] ?? 0));
}

/** The first bound of a quota that leaves no room for another pod. */
export function exceeded(
  requests: Amounts,
  quota: { readonly hard?: Amounts; readonly used?: Amounts },
): string | undefined {
  const { hard = {}, used = {} } = quota;
  const asked = (bound: string) => {
    if (bound === 'pods' || bound === 'count/pods') return 1;
    return numberOf(requests[bound.replace(/^requests\./, '')] ?? 0);
  };
  return Object.keys(hard).find(
    (bound) => asked(bound) > 0 && numberOf(used[bound] ?? 0) + asked(bound) > numberOf(hard[bound] ?? 0),
  );
}
