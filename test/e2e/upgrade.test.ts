import { expect, inject, test } from 'vitest';
import { kubectlJson } from './support/kubectl.ts';
import type { List, PodObject } from './support/objects.ts';
import { startPlayers } from './support/players.ts';
import { installRelease, ownChart, release } from './support/release.ts';
import { eventually } from './support/service.ts';

const playerCount = 200;
const cacheControl = { before: 'public, max-age=60', after: 'public, max-age=61' };

test('C17.39: 200 players see no failed request while `helm upgrade` replaces the pods of delivery', async () => {
  const { values, before } = inject('e2e');
  const image = `${values.image.registry}/reelwright:${values.image.tag}`;
  const install = (control: string, tag: string, chart: string) => {
    const config = { ...values.config, STREAM_MUTABLE_CACHE_CONTROL: control };
    return installRelease({ ...values, image: { ...values.image, tag }, config }, chart);
  };
  await install(cacheControl.before, before.tag, before.chart);
  const old = await deliveryPods();
  const players = await startPlayers(playerCount, image);
  try {
    await eventually(players.seen, ({ requests }) => requests > 4 * playerCount);
    await install(cacheControl.after, values.image.tag, ownChart);
    await eventually(deliveryPods, (names) => names.every((name) => !old.includes(name)), 120_000);
    const upgradedAtMs = Date.now();
    const seen = await eventually(players.seen, ({ masters }) =>
      Object.values(masters).some(({ lastAtMs }) => lastAtMs > upgradedAtMs),
    );
    process.stdout.write(`  ${JSON.stringify(seen)}\n`);
    expect(seen.failures).toEqual([]);
    // Pods of both versions answered side by side, and all of them did.
    const { [cacheControl.before]: ofOld, [cacheControl.after]: ofNew } = seen.masters;
    expect(ofNew?.firstAtMs).toBeLessThan(ofOld?.lastAtMs ?? 0);
    expect(Object.keys(seen.masters)).toHaveLength(2);
  } finally {
    await players.stop();
  }
});

/** Those that end among them. */
async function deliveryPods(): Promise<string[]> {
  const selector = ['-l', 'app.kubernetes.io/component=delivery'];
  const { items } = await kubectlJson<List<PodObject>>('-n', release.namespace, 'get', 'pods', ...selector);
  return items.map(({ metadata }) => metadata.name);
}
