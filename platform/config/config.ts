import { poolOfQueue } from '#domain/jobs/routing.ts';
import { type ImportSettings, parseImportSettings } from './import-settings.ts';
import { kubernetesVariables } from './kubernetes-variables.ts';
import { type MisspeltVariable, misspeltVariables } from './misspelt.ts';
import { parseStorageSettings, type StorageSettings } from './storage-settings.ts';
import { faultsOfUnsigned } from './thumb-settings.ts';
import { parseUploadSettings, type UploadSettings } from './upload-settings.ts';
import { type Environment, missingVariables, modes, readVariables, type Role, type Values } from './variable.ts';
import { configVariables, type RedisUrl, secretVariables, sections } from './variables.ts';

type ConfigValues = Values<typeof configVariables>;

/** The configuration of the `kubernetes` executor. */
export type KubernetesConfig = Omit<Values<typeof kubernetesVariables>, 'kubeconfig'> & {
  /** How the API server is reached. */
  readonly access:
    | { readonly kind: 'service account'; readonly host: string; readonly port: string }
    | { readonly kind: 'kubeconfig'; readonly paths: string };
};

/** The configuration of a process. Sizes are bytes; what each field means is said where its variable is declared. */
export interface Config extends ConfigValues {
  readonly redis: RedisUrl;
  readonly source: StorageSettings;
  readonly media: StorageSettings;
  /** The bucket of the sources that delivery shows as images; null where it shows none. */
  readonly imageSource: StorageSettings | null;
  /** Null where no uploads are accepted. */
  readonly uploads: UploadSettings | null;
  /** Null where no imports are accepted. */
  readonly imports: ImportSettings | null;
  /** Null unless the executor is `kubernetes`, and this process is a worker. */
  readonly kubernetes: KubernetesConfig | null;
}

/**
 * The configuration of a server of the surface `delivery` alone: it has no source bucket, and without Redis each
 * process counts its limits by itself.
 */
export interface DeliveryConfig extends Omit<Config, 'source' | 'redis' | 'uploads' | 'imports'> {
  readonly source: null;
  readonly uploads: null;
  readonly imports: null;
  readonly redis: RedisUrl | null;
}

/** The configuration, or every fault at once: the variable, what was expected, never a secret's value. */
export type LoadedConfig =
  | { readonly config: Config | DeliveryConfig; readonly misspelt: readonly MisspeltVariable[] }
  | { readonly faults: readonly string[] };

/**
 * Loads the configuration. Reads only the files that `<NAME>_FILE` names.
 *
 * @param argv the flags alone; `--help` and `--check-config` are the program's
 */
export function loadConfig(env: Environment, argv: readonly string[]): LoadedConfig {
  const flags = readFlags(argv);
  const read = readVariables(configVariables, { ...env, ...flags.variables });
  const roles = rolesOf(read.values);
  const isDeliveryAlone = roles !== null && !roles.has('api') && !roles.has('worker');
  const showsSources = roles?.has('delivery') === true && typeof read.values.thumbSources === 'string';
  const source = isDeliveryAlone ? { settings: null } : parseStorageSettings(env, 'SOURCE');
  const imageSource = showsSources ? parseStorageSettings(env, 'SOURCE') : { settings: null };
  const media = parseStorageSettings(env, 'MEDIA');
  const uploads =
    'settings' in source && source.settings !== null ? parseUploadSettings(env, source.settings) : { uploads: null };
  const hasUploads = 'uploads' in uploads && uploads.uploads !== null;
  // A fault of the uploads says enough.
  const imports = isDeliveryAlone ? { imports: null } : parseImportSettings(env, hasUploads || 'faults' in uploads);
  const kubernetes = readVariables(kubernetesVariables, env);
  const faults = [
    ...flags.faults,
    ...read.faults,
    ...missingVariables(configVariables, env, roles),
    ...[isDeliveryAlone ? imageSource : source, media, uploads, imports].flatMap((part) =>
      'faults' in part ? part.faults : [],
    ),
    ...kubernetes.faults,
    ...equalSecrets(read.values),
    ...faultsOfUnsigned(read.values, env),
  ];
  const misspelt = misspeltVariables(env, knownNames);
  if (faults.length > 0 || !('settings' in source) || !('settings' in imageSource) || !('settings' in media))
    return { faults: faults.map((each) => withMisspelt(each, misspelt)) };
  if (!('uploads' in uploads) || !('imports' in imports)) return { faults };
  const hasKeys = {
    source: source.settings?.s3?.keys !== undefined,
    media: media.settings.s3?.keys !== undefined,
  };
  const kubernetesRead =
    roles?.has('kubernetes') === true
      ? kubernetesConfig(kubernetes.values as Values<typeof kubernetesVariables>, env, hasKeys)
      : { kubernetes: null };
  if ('faults' in kubernetesRead) return kubernetesRead;
  const config = {
    ...(read.values as ConfigValues),
    ...kubernetesRead,
    source: source.settings,
    imageSource: imageSource.settings,
    uploads: uploads.uploads,
    imports: imports.imports,
    media: roles?.has('worker') === true ? media.settings : withoutWork(media.settings),
  };
  // A process that has a source store requires `REDIS_URL` as well.
  return { config: config as Config | DeliveryConfig, misspelt };
}

/** A variable that is missing was perhaps meant by another name. */
function withMisspelt(fault: string, misspelt: readonly MisspeltVariable[]): string {
  const given = misspelt.find(({ nearest }) => fault === `${nearest}: is required`);
  return given === undefined ? fault : `${fault}; ${given.variable} is set: rename it if it is meant`;
}

/** Servers read no working object, and need no right on the bucket that has them. */
function withoutWork({ bucket, s3, dir }: StorageSettings): StorageSettings {
  return { bucket, s3, ...(dir === undefined ? {} : { dir }) };
}

const knownNames = new Set(Object.values(sections).flatMap((table) => Object.values(table).map(({ name }) => name)));

function readFlags(argv: readonly string[]): { variables: Record<string, string>; faults: string[] } {
  const variables: Record<string, string> = {};
  const faults: string[] = [];
  for (const flag of argv) {
    if (flag === '--check-config') continue;
    const mode = /^--mode=(.*)$/s.exec(flag)?.[1];
    if (mode === undefined)
      faults.push(`${flag.split('=')[0]}: is not a known flag; known are --mode=, --check-config and --help`);
    else if (mode === '') faults.push(`--mode: expected one of ${modes.join(', ')}`);
    else variables['MODE'] = mode;
  }
  return { variables, faults };
}

/** The roles of this process; null where they cannot be known, since a variable that decides them is wrong. */
function rolesOf({ mode, surfaces, executor }: Partial<ConfigValues>): ReadonlySet<Role> | null {
  if (mode === undefined || surfaces === undefined) return null;
  const roles = new Set<Role>(mode === 'worker' ? [] : surfaces);
  if (mode !== 'server') roles.add('worker');
  if (mode !== 'server' && executor === 'kubernetes') roles.add('kubernetes');
  return roles;
}

/** A fault for each pair of equal secrets: a leaked one must not open what another protects. */
function equalSecrets(values: Partial<ConfigValues>): string[] {
  const secrets = Object.entries(secretVariables).flatMap(([field, { name }]) =>
    [values[field as keyof typeof secretVariables] ?? []].flat().map((secret) => ({ name, secret })),
  );
  const faults = secrets.flatMap(({ name, secret }, index) => {
    const earlier = secrets.slice(0, index).find((other) => other.secret === secret);
    if (earlier === undefined) return [];
    return [`${name}: expected ${earlier.name === name ? 'keys that differ' : `another value than ${earlier.name}`}`];
  });
  return [...new Set(faults)];
}

/** The configuration of the `kubernetes` executor. `hasKeys`: whether this process opens each store with own keys. */
function kubernetesConfig(
  { kubeconfig, ...values }: Values<typeof kubernetesVariables>,
  env: Environment,
  hasKeys: { readonly source: boolean; readonly media: boolean },
): { readonly kubernetes: KubernetesConfig } | { readonly faults: readonly string[] } {
  const access = accessOf(kubeconfig, env);
  const faults = [
    ...missingVariables(kubernetesVariables, env, new Set(['kubernetes'])),
    ...(access === null ? ['KUBECONFIG: is required outside a cluster'] : []),
    ...unsizedPools(values.runnerPools ?? {}),
    ...(hasKeys.source && values.runnerSourceSecret === null ? ['RUNNER_SOURCE_SECRET: is required'] : []),
    ...(hasKeys.media && values.runnerMediaSecret === null ? ['RUNNER_MEDIA_SECRET: is required'] : []),
  ];
  if (faults.length > 0 || access === null) return { faults };
  // The chart names both Secrets always; one is used only where this process has such keys.
  const runnerSourceSecret = hasKeys.source ? values.runnerSourceSecret : null;
  const runnerMediaSecret = hasKeys.media ? values.runnerMediaSecret : null;
  return { kubernetes: { ...values, runnerSourceSecret, runnerMediaSecret, access } };
}

/** A fault for each pool that no variable sizes. */
function unsizedPools(pools: NonNullable<KubernetesConfig['runnerPools']>): string[] {
  const sizedByQueue = Object.values<string>(poolOfQueue);
  const unsized = Object.keys(pools).filter(
    (name) => pools[name]?.concurrency === undefined && !sizedByQueue.includes(name),
  );
  return unsized.map((name) => `RUNNER_POOLS: expected a concurrency for the pool ${name}`);
}

function accessOf(kubeconfig: string | null, env: Environment): KubernetesConfig['access'] | null {
  if (kubeconfig !== null) return { kind: 'kubeconfig', paths: kubeconfig };
  const host = env['KUBERNETES_SERVICE_HOST'];
  if (host === undefined || host === '') return null;
  return { kind: 'service account', host, port: env['KUBERNETES_SERVICE_PORT'] ?? '443' };
}
