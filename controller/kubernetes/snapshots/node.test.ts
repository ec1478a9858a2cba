import { expect, it } from 'vitest';
import { trimNode } from './node.ts';

const at = '2026-11-21T12:00:00Z';
const ready = (status: 'True' | 'False' | 'Unknown', message?: string) => {
  const shared = { type: 'Ready', status, reason: 'NodeStatusUnknown', lastHeartbeatTime: at, lastTransitionTime: at };
  return [
    { ...shared, type: 'DiskPressure', status: 'False' as const },
    { ...shared, ...(message ? { message } : {}) },
  ];
};

it.each([
  ['is ready', ready('True', 'kubelet is posting ready status'), null],
  ['says that it is not', ready('False', 'container runtime is down'), 'container runtime is down'],
  ['does not answer', ready('Unknown', 'Kubelet stopped posting node status.'), 'Kubelet stopped posting node status.'],
  ['does not answer and has no message', ready('Unknown'), 'NodeStatusUnknown'],
  ['has reported nothing', [], 'It has reported no state.'],
])('a node that %s is shown so', (_, conditions, unreadyBecause) => {
  const metadata = { name: 'node-1', uid: 'u', resourceVersion: '7', labels: { zone: 'a' } };
  const trimmed = { metadata: { name: 'node-1', uid: 'u', resourceVersion: '7' }, unreadyBecause };
  expect(trimNode({ metadata, status: { conditions } })).toEqual(trimmed);
});
