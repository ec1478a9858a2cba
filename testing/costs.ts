import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import type { ObjectStore } from '#platform/storage/object-store.ts';

// Counts what work asks of other systems: statements, commands, requests and starts of processes.
// Times depend on the machine; these numbers do not.

/** How often each system was asked. */
export interface Costs {
  /** Statements, each of which is a round trip: `begin` and `commit` too. */
  readonly sql: number;
  /** Commands to Redis: of the queue and of rate limits. */
  readonly redis: number;
  /** Requests to buckets. */
  readonly objects: number;
  readonly processes: number;
}

interface Statement {
  readonly text: string;
  readonly values: string;
}

type Method = (...parameters: unknown[]) => unknown;

/** In the text of a statement of the test's own, which does not count. */
export const ofTheTest = '/* of the test */';
/** Leases are renewed by time. */
const isByTime = (text: string) => text.includes('with renewed as');

/** Counts from its opening to its closing, one at a time in a process. */
export class CostCounter {
  /** A statement alone, or all statements of a transaction. */
  readonly #units: Statement[][] = [];
  readonly #commands: string[] = [];
  readonly #requests: string[] = [];
  readonly #within = new AsyncLocalStorage<string>();
  #processes = 0;
  readonly #restores: (() => void)[] = [];

  constructor(stores: readonly ObjectStore[]) {
    this.#countSql();
    this.#replace(Redis.prototype, 'sendCommand', (send) => (command, ...rest) => {
      const { name, args } = command as { readonly name: string; readonly args: readonly unknown[] };
      this.#commands.push(`${name} ${args.map(String).join(' ')}`);
      return send(command, ...rest);
    });
    for (const store of stores) this.#countRequests(store);
    const onProcess = () => (this.#processes += 1);
    subscribe('child_process', onProcess);
    this.#restores.push(() => unsubscribe('child_process', onProcess));
  }

  /** The counts since the last call. Of statements and commands only those count that name one of `names`. */
  take(names: readonly string[]): Costs & { readonly log: readonly string[] } {
    const isNamed = (text: string) => names.some((name) => text.includes(name));
    const units = this.#units.splice(0).filter((unit) => unit.some(({ values }) => isNamed(values)));
    const counted = units.flat().filter(({ text }) => !text.includes(ofTheTest) && !isByTime(text));
    const statements = counted.map(({ text }) => text.trim().replaceAll(/\s+/g, ' ').slice(0, 100));
    const commands = this.#commands.splice(0).filter(isNamed);
    const requests = this.#requests.splice(0);
    const processes = this.#processes;
    this.#processes = 0;
    const log = [...statements, ...commands.map((command) => command.slice(0, 100)), ...requests];
    return { sql: statements.length, redis: commands.length, objects: requests.length, processes, log };
  }

  close(): void {
    for (const restore of this.#restores) restore();
  }

  #countSql(): void {
    const open = new WeakMap<object, Statement[]>();
    const units = this.#units;
    this.#replace(Client.prototype, 'query', (query, client) => (given, ...rest) => {
      const text = typeof given === 'string' ? given : (given as { readonly text: string }).text;
      const [parameters] = typeof given === 'string' ? rest : [(given as { readonly values?: unknown }).values];
      const statement = { text, values: Array.isArray(parameters) ? JSON.stringify(parameters) : '' };
      if (text.startsWith('begin')) open.set(client, []);
      const unit = open.get(client);
      if (unit === undefined) units.push([statement]);
      else unit.push(statement);
      if (unit !== undefined && /^(?:commit|rollback)$/.test(text)) {
        units.push(unit);
        open.delete(client);
      }
      return query(given, ...rest);
    });
  }

  #countRequests(store: ObjectStore): void {
    for (const name of ['head', 'get', 'readStart', 'download', 'put', 'putNew', 'list', 'delete'])
      this.#replace(store, name, (call) => (...parameters) => {
        // A request that is made of another one counts once.
        if (this.#within.getStore() !== undefined) return call(...parameters);
        this.#requests.push(`${name} ${String(parameters[0])}`);
        return this.#within.run(name, () => call(...parameters));
      });
  }

  /** Puts another method in the place of `name`, until this is closed. */
  #replace(target: object, name: string, by: (original: Method, self: object) => Method): void {
    const methods = target as Record<string, Method>;
    const isOwn = Object.hasOwn(target, name);
    const original = methods[name] as Method;
    methods[name] = function (this: object, ...parameters: unknown[]) {
      return by(original.bind(this), this)(...parameters);
    };
    this.#restores.push(() => {
      if (isOwn) methods[name] = original;
      else delete methods[name];
    });
  }
}
