import { availableParallelism } from 'node:os';
import { openObjectStore } from '#platform/storage/open.ts';
import { boardRoutes } from './board.ts';
import { openGateway } from './gateway.ts';
import { choosePort, PortTaken, type Service, startService, type StartOptions } from './service.ts';
import { startWorkers, takeoverSettings, type Workers } from './workers.ts';

// The demo as it runs: the service, its workers, and the gateway before them.

const settings = {
  // Frames of a storyboard are not encrypted, so an encrypted stream has none by default; a song is streamed too.
  MEDIA_PROFILES: JSON.stringify({ profiles: { default: { storyboard: 'always', audio_only: 'stream' } } }),
  // `/` is the console.
  CONSOLE: 'home',
  // A first webhook goes to a receiver on this machine.
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8,::1/128',
  // A video of half a minute has chunks too, and one that is encoded is not encoded again after a kill. The sample
  // stays one piece: a storyboard needs one, or chunks that fill its sheets.
  CHUNK_LENGTH: '12s',
  WORKER_CHUNK_PARALLELISM: String(Math.max(1, Math.min(4, Math.floor(availableParallelism() / 4)))),
  ...takeoverSettings,
};

export interface Demo {
  /** `http://127.0.0.1:PORT` */
  readonly baseUrl: string;
  readonly workers: Pick<Workers, 'pids' | 'killBusiest'>;
  /** The service itself, behind the gateway. */
  readonly service: Pick<Service, 'baseUrl' | 'pid'>;
  /** Aborted when the service or a worker ends by itself; the reason is an Error with the cause. */
  readonly ended: AbortSignal;
  stop(): Promise<void>;
}

/** `port` is where the demo is reached. */
type DemoOptions = Omit<StartOptions, 'mode'> & {
  /** Called with the id of a worker that was killed in the console. */
  readonly onKilled?: (pid: number) => void;
};

/** Starts the demo and waits until it answers. @throws Error with the last message of the service's log */
export async function startDemo({ onKilled, ...given }: DemoOptions): Promise<Demo> {
  const { data, secrets, signal } = given;
  const closing: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const close of closing.toReversed()) await close();
  };
  try {
    const gateway = await openGateway(given.port);
    closing.push(() => gateway.close());
    const { baseUrl } = gateway;
    const options = {
      ...given,
      mode: 'server' as const,
      settings: { ...settings, BASE_URL: baseUrl, ...given.settings },
    };
    const service = await startOnFreePort(options);
    closing.push(() => service.stop());
    const port = Number(new URL(service.baseUrl).port);
    // They stop first: the server has the database.
    const workers = await startWorkers({ ...options, port });
    closing.push(() => workers.stop());
    const media = openObjectStore({ bucket: `file:${data.media}`, dir: data.media });
    closing.push(() => media.close());
    const api = { baseUrl: service.baseUrl, apiKey: secrets.values.API_KEY, signal };
    const routes = boardRoutes({ workers, api, media, ...(onKilled === undefined ? {} : { onKilled }) });
    gateway.forwardTo({ port, routes });
    const ended = AbortSignal.any([service.ended, workers.ended]);
    return { baseUrl, workers, service, ended, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts the service behind the gateway; tries again when another program takes its port meanwhile. */
async function startOnFreePort(options: Omit<StartOptions, 'port'>): Promise<Service> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startService({ ...options, port: await choosePort('0') });
    } catch (error) {
      if (!(error instanceof PortTaken) || attempt === 3) throw error;
    }
  }
}
