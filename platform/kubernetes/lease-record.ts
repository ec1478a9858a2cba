import type { KubeClient } from './client.ts';
import type { Clock } from './clock.ts';
import { hasReason } from './errors.ts';
import { leases } from './objects.ts';

/** Which Lease, and who reads and writes it; times in milliseconds. */
export interface LeaseRecordOptions {
  client: KubeClient;
  namespace: string;
  name: string;
  identity: string;
  /** How long others wait after the last renewal. Whole seconds, as the Lease holds it. */
  termMs: number;
  clock: Clock;
}

interface ObservedLease {
  resourceVersion: string;
  holder: string;
  transitions: number;
  termMs: number;
  /** When this version of the lease was first observed, on our clock. */
  observedMs: number;
}

/**
 * The Lease object as last observed. A write has the resource version that was read, so one of two concurrent writers
 * gets a Conflict.
 */
export class LeaseRecord {
  readonly #options: LeaseRecordOptions;
  #observed: ObservedLease | undefined;

  constructor(options: LeaseRecordOptions) {
    this.#options = options;
  }

  /** Takes the lease if it is free or its holder has not renewed it for its whole term; whether it did. */
  async tryTake(signal: AbortSignal): Promise<boolean> {
    const { clock, identity, termMs, client, namespace, name } = this.#options;
    const lease = await this.#read(signal);
    const taken = {
      holderIdentity: identity,
      acquireTime: microTime(),
      renewTime: microTime(),
      leaseDurationSeconds: termMs / 1000,
    };
    try {
      if (!lease) {
        const spec = { ...taken, leaseTransitions: 0 };
        this.#observe(await client.create(leases, { metadata: { namespace, name }, spec }, { signal }));
        return true;
      }
      // A holder of our own name is this process, before it gave up: no one else needs the rest of that term.
      const isFree = lease.holder === '' || lease.holder === identity;
      if (!isFree && clock.nowMs() < lease.observedMs + lease.termMs) return false;
      await this.#write({ ...taken, leaseTransitions: lease.transitions + 1 }, signal);
      return true;
    } catch (error) {
      // Another process took it first.
      if (hasReason(error, 'Conflict', 'AlreadyExists')) return false;
      throw error;
    }
  }

  /** Renews the lease; `taken`: another process holds it. */
  async renew(signal: AbortSignal): Promise<'renewed' | 'taken'> {
    try {
      await this.#write({ renewTime: microTime() }, signal);
    } catch (error) {
      if (!hasReason(error, 'Conflict', 'NotFound')) throw error;
      // The previous renewal may have arrived and only its answer was lost.
      const lease = await this.#read(signal);
      if (lease?.holder !== this.#options.identity) return 'taken';
      await this.#write({ renewTime: microTime() }, signal);
    }
    return 'renewed';
  }

  /** Gives the lease back, so that another process need not wait for its term to end. */
  async release(signal: AbortSignal): Promise<void> {
    await this.#write({ holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime() }, signal);
  }

  async #read(signal: AbortSignal): Promise<ObservedLease | undefined> {
    const { client, namespace, name } = this.#options;
    try {
      return this.#observe(await client.get(leases, { namespace, name }, { signal }));
    } catch (error) {
      if (!hasReason(error, 'NotFound')) throw error;
      this.#observed = undefined;
      return undefined;
    }
  }

  async #write(spec: object, signal: AbortSignal): Promise<void> {
    const { client, namespace, name } = this.#options;
    const patch = { metadata: { resourceVersion: this.#observed?.resourceVersion }, spec };
    this.#observe(await client.mergePatch(leases, { namespace, name }, patch, { signal }));
  }

  #observe(lease: (typeof leases)['example']): ObservedLease {
    const resourceVersion = lease?.metadata?.resourceVersion ?? '';
    if (this.#observed?.resourceVersion === resourceVersion) return this.#observed;
    const { holderIdentity, leaseTransitions, leaseDurationSeconds } = lease?.spec ?? {};
    this.#observed = {
      resourceVersion,
      holder: holderIdentity ?? '',
      transitions: leaseTransitions ?? 0,
      termMs: leaseDurationSeconds === undefined ? this.#options.termMs : leaseDurationSeconds * 1000,
      observedMs: this.#options.clock.nowMs(),
    };
    return this.#observed;
  }
}

/** A Lease has times in microseconds; this clock has milliseconds. */
function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z');
}
