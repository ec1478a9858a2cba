import { expect, test } from 'vitest';
import { chart, helm, leastValues, type Manifest, objectOf, renderChart } from '../../testing/k8s/chart.ts';

// Where runner pods, which decode what strangers send, may connect for the buckets.

interface Policy extends Manifest {
  readonly spec: {
    readonly egress: readonly {
      readonly to?: readonly { readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] } }[];
      readonly ports: readonly { readonly port: number }[];
    }[];
  };
}

/** The blocks of addresses at which a runner reaches the port of the buckets. */
async function blocksOf(more: object, port = 443) {
  const policy = objectOf(await renderChart({ ...leastValues, ...more }), 'NetworkPolicy', 'runners') as Policy;
  const rule = policy.spec.egress.find(({ ports }) => ports.some((each) => each.port === port));
  return (rule?.to ?? []).map(({ ipBlock }) => [ipBlock?.cidr, ipBlock?.except?.includes('10.0.0.0/8') ?? false]);
}
const egress = (rules: object) => ({ networkPolicies: { egress: rules } });
const amazon = { storage: { source: { bucket: 'uploads' }, media: { bucket: 'media' } } };
const own = {
  storage: { source: { bucket: 'uploads', endpoint: 'http://s3.internal:9000' }, media: { bucket: 'media' } },
};
const block = { ipBlock: { cidr: '10.5.0.0/24' } };
const [everywhere, publicOnly] = [
  [
    ['0.0.0.0/0', false],
    ['::/0', false],
  ],
  [
    ['0.0.0.0/0', true],
    ['2000::/3', false],
  ],
];

test.each([
  ['of Amazon S3 at public addresses alone', amazon, 443, publicOnly],
  [
    'of Amazon S3 anywhere with anyAddress',
    { ...amazon, ...egress({ runners: { anyAddress: true } }) },
    443,
    everywhere,
  ],
  ['of an endpoint at any address', own, 9000, everywhere],
  ['where storage.to says', { ...own, ...egress({ storage: { to: [block] } }) }, 9000, [['10.5.0.0/24', false]]],
  [
    'where runners.to says, whatever storage.to is',
    { ...own, ...egress({ storage: { to: [] }, runners: { to: [block] } }) },
    9000,
    [['10.5.0.0/24', false]],
  ],
  ['at any address by values of an earlier chart', { ...amazon, ...egress({ runners: null }) }, 443, everywhere],
])('runner pods reach the buckets %s', async (_, values, port, blocks) => {
  expect(await blocksOf(values, port)).toEqual(blocks);
});

test('an upgrade that reuses the values of a chart which had neither uploads nor runners.to is rendered', async () => {
  const earlier = [
    '--kube-version',
    '1.34.0',
    '--set-json',
    'uploads=null,networkPolicies.egress.runners=null',
    '--skip-schema-validation',
  ];
  expect(await helm(['template', 'reelwright', chart, ...earlier], leastValues)).toContain('kind: Deployment');
});
