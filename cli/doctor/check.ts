import { type Config, type DeliveryConfig, loadConfig, type LoadedConfig } from '#platform/config/config.ts';
import { Connection } from '#platform/kubernetes/connection.ts';
import { kubeConfigFileCredentials, serviceAccountCredentials } from '#platform/kubernetes/credentials.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import type { Env } from '../settings.ts';

// What a check is. Each is a row of the table in the file index.ts of this folder: its name, the checks without which
// it says nothing new, whether it applies to what is configured, and what it finds.

export interface Finding {
  /** A warning names what may be as it is meant to be. */
  readonly level: 'fault' | 'warning';
  /** The fault, with the variable or object that is to change. */
  readonly fault: string;
  readonly remedy: string;
}

export interface Check {
  readonly name: string;
  /** Checks that must have passed. */
  readonly needs: readonly string[];
  /** Null where it applies, else why not. */
  readonly unless?: (ground: Ground) => string | null;
  readonly run: (ground: Ground) => Promise<readonly Finding[]>;
}

export interface CheckResult {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'fault' | 'skipped';
  readonly findings: readonly Finding[];
  /** Why it was skipped. */
  readonly reason?: string;
}

export function fault(text: string, remedy: string): Finding {
  return { level: 'fault', fault: text, remedy };
}

export function warning(text: string, remedy: string): Finding {
  return { level: 'warning', fault: text, remedy };
}

/** The ground that the checks share: the configuration, and connections that are opened when one asks for them. */
export class Ground {
  readonly env: Env;
  readonly loaded: LoadedConfig;
  /** Receivers of webhooks to look at, beside what is configured. */
  readonly callbackUrls: readonly string[];
  readonly signal: AbortSignal;
  #database: Database | undefined;
  #cluster: Promise<Connection> | undefined;

  constructor(given: { env: Env; flags: readonly string[]; callbackUrls: readonly string[]; signal: AbortSignal }) {
    this.env = given.env;
    this.loaded = loadConfig(given.env, given.flags);
    this.callbackUrls = given.callbackUrls;
    this.signal = given.signal;
  }

  /** For checks that need `configuration`. */
  get config(): Config | DeliveryConfig {
    if ('faults' in this.loaded) throw new TypeError('the configuration is not valid');
    return this.loaded.config;
  }

  get database(): Database {
    const { databaseUrl } = this.config;
    if (databaseUrl.kind !== 'postgres') throw new TypeError('the database is embedded');
    return (this.#database ??= openDatabase(databaseUrl.url, { maxConnections: 2 }));
  }

  /** The configuration of the `kubernetes` executor. */
  get kubernetes(): NonNullable<Config['kubernetes']> {
    const { kubernetes } = this.config;
    if (kubernetes === null) throw new TypeError('the executor is not kubernetes');
    return kubernetes;
  }

  get cluster(): Promise<Connection> {
    return (this.#cluster ??= this.#openCluster());
  }

  async #openCluster(): Promise<Connection> {
    const { access } = this.kubernetes;
    const credentials =
      access.kind === 'service account'
        ? serviceAccountCredentials(access)
        : await kubeConfigFileCredentials(access.paths);
    return new Connection(credentials, { timeoutMs: 8_000 });
  }

  async close(): Promise<void> {
    const cluster = await this.#cluster?.catch(() => undefined);
    await Promise.all([this.#database?.close(), cluster?.close()]);
  }
}

/** Longer than any timeout inside a check. */
const checkMsMax = 60_000;

/** Runs the checks in their order; one whose needs have faults is skipped, since those name the cause. */
export async function runChecks(
  checks: readonly Check[],
  ground: Ground,
  onResult: (result: CheckResult) => void = () => undefined,
): Promise<readonly CheckResult[]> {
  const results = new Map<string, CheckResult>();
  for (const check of checks) {
    const result = await resultOf(check, ground, results);
    results.set(check.name, result);
    onResult(result);
    ground.signal.throwIfAborted();
  }
  return [...results.values()];
}

async function resultOf(
  { name, needs, unless, run }: Check,
  ground: Ground,
  earlier: ReadonlyMap<string, CheckResult>,
): Promise<CheckResult> {
  const skipped = (reason: string): CheckResult => ({ name, status: 'skipped', findings: [], reason });
  const failed = needs.find((need) => !['ok', 'warning'].includes(earlier.get(need)?.status ?? ''));
  if (failed !== undefined) return skipped(`needs ${failed}`);
  const reason = unless?.(ground) ?? null;
  if (reason !== null) return skipped(reason);
  const findings = await inTime(run(ground)).catch((error: unknown) => [
    fault(`the check itself failed: ${error instanceof Error ? error.message : String(error)}`, 'report this'),
  ]);
  const isFault = findings.some(({ level }) => level === 'fault');
  return { name, status: isFault ? 'fault' : findings.length > 0 ? 'warning' : 'ok', findings };
}

async function inTime(work: Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  const late = Promise.withResolvers<readonly Finding[]>();
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${checkMsMax / 1000} s`)), checkMsMax);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
