import type { TestProject } from 'vitest/node';
import { hostProcesses } from './host-processes.ts';
import { startHostServers, type HostServers } from './host-servers.ts';
import { preparePortForward } from './port-forward.ts';
import {
  installRelease,
  keepLogs,
  makeNamespace,
  makeSecrets,
  refuseOthers,
  release,
  releaseValues,
  removeRelease,
  type Secrets,
} from './release.ts';

// Installs the chart once for a run. The test files share the release.

export interface E2eContext {
  /** `http://127.0.0.1:PORT` of the job API. */
  readonly apiUrl: string;
  /** The same of delivery: `BASE_URL`. */
  readonly deliveryUrl: string;
  /** The address at which pods reach this machine. */
  readonly hostAddress: string;
  readonly secrets: Secrets;
  readonly servers: Omit<HostServers, 'stop'>;
  /** Whether the nodes' processes are processes of this machine that may be read. */
  readonly seesPods: boolean;
  /** The values of the release. */
  readonly values: ReturnType<typeof releaseValues>;
}

declare module 'vitest' {
  export interface ProvidedContext {
    e2e: E2eContext;
  }
}

/** Called by vitest before the first test file; vitest calls the returned function after the last. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const hostAddress = variable('E2E_HOST_ADDRESS');
  const image = { registry: variable('E2E_IMAGE_REGISTRY'), tag: variable('E2E_IMAGE_TAG') };
  await refuseOthers();
  await removeRelease();
  const { stop, ...servers } = await startHostServers(hostAddress);
  const forwards = await Promise.all(
    ['api', 'delivery'].map((component) => preparePortForward(release.namespace, `${release.name}-${component}`)),
  );
  const tearDown = async () => {
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
    process.stdout.write(await installRelease(values));
    for (const forward of forwards) forward.start();
    project.provide('e2e', {
      apiUrl,
      deliveryUrl,
      hostAddress,
      secrets,
      servers,
      values,
      seesPods: await seesControllers(),
    });
  } catch (error) {
    await tearDown();
    throw error;
  }
  return tearDown;
}

async function seesControllers(): Promise<boolean> {
  const found = await hostProcesses();
  return found.some(({ environment }) => environment.includes(`POD_NAMESPACE=${release.namespace}\0`));
}

function variable(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`expected ${name} to be set; run this suite with scripts/e2e, which sets it`);
  return value;
}
