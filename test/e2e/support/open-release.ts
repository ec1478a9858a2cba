import { startHostServers, type HostServers } from './host-servers.ts';
import { preparePortForward } from './port-forward.ts';
import {
  installRelease,
  keepLogs,
  makeNamespace,
  makeSecrets,
  ownChart,
  refuseOthers,
  release,
  releaseValues,
  removeRelease,
  type Secrets,
} from './release.ts';

/** An installed release. */
export interface OpenRelease {
  /** `http://127.0.0.1:PORT` of the job API. */
  readonly apiUrl: string;
  /** The same of delivery: `BASE_URL`. */
  readonly deliveryUrl: string;
  /** The address at which pods reach this machine. */
  readonly hostAddress: string;
  readonly secrets: Secrets;
  readonly servers: Omit<HostServers, 'stop'>;
  /** The values of the release. */
  readonly values: ReleaseValues;
  /** What a test upgrades from: the version before where scripts/e2e was given one, else this one. */
  readonly before: { readonly tag: string; readonly chart: string };
}

type ReleaseValues = ReturnType<typeof releaseValues>;

/**
 * Installs the chart of this checkout on the cluster of `KUBECONFIG`, with the variables that scripts/e2e sets.
 *
 * @param change what is installed in place of the values of the end-to-end tests
 * @returns the release, and what removes it
 */
export async function openRelease(
  change: (values: ReleaseValues) => object = (values) => values,
): Promise<{ readonly opened: OpenRelease; readonly remove: () => Promise<void> }> {
  const hostAddress = variable('E2E_HOST_ADDRESS');
  const image = { registry: variable('E2E_IMAGE_REGISTRY'), tag: variable('E2E_IMAGE_TAG') };
  const { E2E_BEFORE_TAG: tag = image.tag, E2E_BEFORE_CHART: chart = ownChart } = process.env;
  await refuseOthers();
  await removeRelease();
  const { stop, ...servers } = await startHostServers(hostAddress);
  const forwards = await Promise.all(
    ['api', 'delivery'].map((component) => preparePortForward(release.namespace, `${release.name}-${component}`)),
  );
  const remove = async () => {
    await keepLogs();
    await removeRelease();
    await Promise.all(forwards.map((forward) => forward.stop()));
    await stop();
  };
  try {
    const secrets = makeSecrets();
    const [apiUrl = '', deliveryUrl = ''] = forwards.map(({ url }) => url);
    const values = releaseValues({ servers: { ...servers, stop }, secrets, hostAddress, baseUrl: deliveryUrl, image });
    await makeNamespace();
    process.stdout.write(await installRelease(change(values)));
    for (const forward of forwards) forward.start();
    return { opened: { apiUrl, deliveryUrl, hostAddress, secrets, servers, values, before: { tag, chart } }, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

function variable(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`expected ${name} to be set; run this program with scripts/e2e, which sets it`);
  return value;
}
