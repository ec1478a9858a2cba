/**
 * The modules of the tree and what each may import (docs/architecture.md, "Modules"). A module is a folder at the top,
 * each folder of `platform` by itself, or a file at the top. A name that ends with `/` stands for all below it.
 */
interface ModuleRule {
  /** Modules that it may import, beside itself. */
  readonly imports: readonly string[];
  /** The only packages it may import, tests aside; absent: any. */
  readonly packages?: readonly string[];
  /** Whether it may read `process.env` and `process.argv`: programs only. */
  readonly isProgram?: boolean;
}

export const modules: Readonly<Record<string, ModuleRule>> = {
  domain: { imports: [], packages: ['zod', 'node:crypto', 'canonicalize'] },
  'platform/commands': { imports: ['domain', 'platform/config'] },
  'platform/telemetry': { imports: ['domain'] },
  'platform/lifecycle': { imports: ['domain', 'platform/telemetry'] },
  'platform/config': { imports: ['domain', 'platform/concurrency', 'platform/telemetry', 'platform/threads'] },
  'platform/storage': { imports: ['domain', 'platform/concurrency', 'platform/config', 'platform/external-writes'] },
  'platform/concurrency': { imports: [], packages: [] },
  'platform/external-writes': { imports: [], packages: [] },
  'platform/threads': { imports: [], packages: ['node:events', 'node:worker_threads'] },
  'platform/postgres': {
    imports: ['domain', 'platform/concurrency', 'platform/external-writes', 'platform/lifecycle', 'platform/telemetry'],
  },
  'platform/embedded-postgres': { imports: ['platform/commands'] },
  'platform/queue': {
    imports: [
      'domain',
      'platform/concurrency',
      'platform/external-writes',
      'platform/lifecycle',
      'platform/postgres',
      'platform/redis',
      'platform/telemetry',
    ],
  },
  'platform/redis': { imports: [] },
  'platform/rate-limit': { imports: ['domain', 'platform/concurrency', 'platform/postgres', 'platform/redis'] },
  'platform/outbound-http': { imports: ['domain', 'platform/concurrency', 'platform/external-writes'] },
  'platform/http': {
    imports: [
      'domain',
      'platform/concurrency',
      'platform/config',
      'platform/lifecycle',
      'platform/rate-limit',
      'platform/storage',
      'platform/telemetry',
    ],
  },
  'platform/images': {
    imports: ['domain', 'platform/concurrency', 'platform/commands', 'platform/threads'],
    // `node:net` for the pipe between the two processes, which is a socket to Node.
    packages: [
      'sharp',
      '@imagemagick/magick-wasm',
      'node:child_process',
      'node:fs/promises',
      'node:net',
      'node:os',
      'node:stream',
      'node:url',
      'node:worker_threads',
    ],
  },
  'platform/kubernetes': {
    imports: ['domain', 'platform/concurrency', 'platform/external-writes', 'platform/lifecycle', 'platform/telemetry'],
  },
  jobs: { imports: ['domain', 'platform/'] },
  api: { imports: ['domain', 'platform/', 'jobs'] },
  delivery: { imports: ['domain', 'platform/'] },
  controller: { imports: ['domain', 'platform/', 'jobs'] },
  runner: {
    imports: [
      'domain',
      'platform/storage',
      'platform/telemetry',
      'platform/commands',
      'platform/config',
      'platform/images',
    ],
  },
  'http-service.ts': { imports: ['api', 'delivery', 'platform/'] },
  'main.ts': { imports: ['http-service.ts', 'controller', 'domain', 'platform/'], isProgram: true },
  demo: { imports: ['domain', 'platform/', 'jobs'], isProgram: true },
  // Of shaka-player types alone: the page has the library as a script.
  web: { imports: ['clients'], packages: ['htm', 'preact', 'preact/hooks', 'shaka-player'] },
  clients: { imports: [], packages: ['openapi-fetch'] },
  cli: { imports: ['domain', 'platform/', 'clients', 'controller'] },
  // Programs of users, to be copied.
  examples: { imports: [], isProgram: true },
  scripts: { imports: ['domain', 'platform/', 'http-service.ts', 'clients', 'testing'], isProgram: true },
  testing: { imports: ['domain', 'platform/', 'jobs', 'controller', 'cli'], isProgram: true },
  test: {
    imports: [
      'domain',
      'platform/',
      'jobs',
      'api',
      'delivery',
      'controller',
      'runner',
      'http-service.ts',
      'main.ts',
      'demo',
      'clients',
      'cli',
      'scripts',
      'testing',
    ],
    isProgram: true,
  },
  bench: { imports: ['domain', 'platform/', 'jobs', 'controller', 'testing', 'test'], isProgram: true },
  'vitest.config.ts': { imports: ['testing'] },
};

/** Files that are programs in a module that is not one. */
export const programs: readonly string[] = ['runner/main.ts', 'cli/main.ts'];
