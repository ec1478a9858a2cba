import { describe, expect, it } from 'vitest';
import { exceeded, requestsOf, tooLittle } from './pool-needs.ts';

describe('what a pod of a pool asks for', () => {
  it('a pod asks for its requests, its limits where it has no request, and its scratch folder', () => {
    const resources = { requests: { cpu: '2' }, limits: { cpu: '4', memory: '8Gi' } };
    expect(requestsOf({ resources, scratch: { request: '20Gi' } })).toEqual({
      cpu: '2',
      memory: '8Gi',
      'ephemeral-storage': '20Gi',
    });
    expect(requestsOf({})).toEqual({});
  });

  it.each([
    [{ cpu: '500' }, { cpu: '4' }, 'cpu'],
    [{ cpu: '500m' }, { cpu: 1 }, undefined],
    [{ cpu: 1, memory: '4Gi' }, { cpu: '4', memory: '4000000Ki' }, 'memory'],
    [{ memory: '1e9' }, { memory: '1G' }, undefined],
    [{ 'nvidia.com/gpu': 1 }, { cpu: '4' }, 'nvidia.com/gpu'],
  ])('%j of a node with %j lacks %s', (requests, available, resource) => {
    expect(tooLittle(requests, available)).toBe(resource);
  });

  it.each([
    [{ pods: '0' }, {}, 'pods'],
    [{ 'count/pods': '3' }, { 'count/pods': '2' }, undefined],
    [{ 'requests.cpu': '4' }, { 'requests.cpu': '3500m' }, 'requests.cpu'],
    [{ secrets: '0' }, { secrets: '4' }, undefined],
  ])('a quota of %j with %j in use is exceeded by %s', (hard, used, bound) => {
    expect(exceeded({ cpu: 1 }, { hard, used })).toBe(bound);
  });
});
