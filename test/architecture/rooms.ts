/**
 * The rooms of the tree and what each may import (docs/architecture.md, "Rooms and arrows"). A room is a folder at the
 * top, each folder of `platform` by itself, or a file at the top. A name that ends with `/` stands for all below it.
 */
interface Room {
  /** Rooms that it may import, beside itself. */
  readonly imports: readonly string[];
  /** The only packages it may import, tests aside; absent: any. */
  readonly packages?: readonly string[];
  /** Whether it may read `process.env` and `process.argv`: programs only. */
  readonly isProgram?: boolean;
}

export const rooms: Readonly<Record<string, Room>> = {
  domain: { imports: [], packages: ['zod', 'node:crypto', 'canonicalize'] },
  'platform/settings': { imports: ['domain'] },
  'platform/commands': { imports: ['domain', 'platform/settings'] },
  'platform/telemetry': { imports: ['domain', 'platform/commands'] },
  'platform/lifecycle': { imports: ['domain', 'platform/telemetry'] },
  'platform/storage': { imports: ['domain', 'platform/settings'] },
  'platform/config': { imports: ['domain', 'platform/settings', 'platform/storage', 'platform/telemetry'] },
  'platform/batches': { imports: [], packages: [] },
  'platform/postgres': { imports: ['domain', 'platform/batches', 'platform/telemetry'] },
  'platform/queue': { imports: ['domain', 'platform/batches', 'platform/telemetry'] },
  'platform/key-value': { imports: ['domain', 'platform/postgres'] },
  'platform/outbound-http': { imports: ['domain'] },
  'platform/images': {
    imports: [],
    // `node:net` for the pipe between the two processes, which is a socket to Node.
    packages: ['sharp', 'node:child_process', 'node:net', 'node:os', 'node:stream', 'node:url'],
  },
  'platform/kubernetes': { imports: ['domain', 'platform/lifecycle', 'platform/telemetry'] },
  api: { imports: ['domain', 'platform/'] },
  controller: { imports: ['domain', 'platform/'] },
  runner: { imports: ['domain', 'platform/storage', 'platform/telemetry', 'platform/commands'] },
  'main.ts': { imports: ['api', 'controller', 'domain', 'platform/'], isProgram: true },
  demo: { imports: ['domain', 'platform/'], isProgram: true },
  web: { imports: [], packages: [] },
  scripts: { imports: ['domain'], isProgram: true },
  test: {
    imports: ['domain', 'platform/', 'api', 'controller', 'runner', 'main.ts', 'demo', 'scripts'],
    isProgram: true,
  },
  bench: {
    imports: ['domain', 'platform/', 'api', 'controller', 'test'],
    isProgram: true,
  },
  'vitest.config.ts': { imports: [] },
};

/** Files that are programs in a room that is none. */
export const programs: readonly string[] = ['runner/main.ts'];
