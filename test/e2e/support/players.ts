import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { masterKey, videoKey } from '#domain/media/object-keys.ts';
import { apply, kubectl } from './kubectl.ts';
import { release } from './release.ts';
import { openBucket } from './service.ts';

// Players in a pod of the cluster (players-process.ts), which reach delivery by its Service.

const name = 'e2e-players';
const rev = '0123456789abcdef';
const track = 'video/r360_h264';
const segments = Array.from({ length: 4 }, (_, n) => `seg_${n}.m4s`);
const segmentBytes = 64 * 1024;

/** What all players have seen so far. */
export interface PlayersSeen {
  readonly requests: number;
  /** At most twenty of them. */
  readonly failures: readonly string[];
  /** Answers to requests for the master, by `Cache-Control`, which tells the versions of a release apart. */
  readonly masters: Readonly<
    Record<string, { readonly count: number; readonly firstAtMs: number; readonly lastAtMs: number }>
  >;
}

/** Starts players of a stream that is put into the media bucket. */
export async function startPlayers(count: number, image: string) {
  await putStream();
  const program = await readFile(join(import.meta.dirname, 'players-process.ts'), 'utf8');
  const { namespace } = release;
  const metadata = { name, namespace };
  await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'players.ts': program } });
  await apply({ apiVersion: 'v1', kind: 'Pod', metadata, spec: podSpec(count, image) });
  await kubectl('-n', namespace, 'wait', '--for=condition=Ready', '--timeout=60s', `pod/${name}`);
  return {
    seen: async (): Promise<PlayersSeen> => {
      const line = await kubectl('-n', namespace, 'logs', name, '--tail=1');
      return JSON.parse(line || '{"requests":0,"failures":[],"masters":{}}') as PlayersSeen;
    },
    stop: () => kubectl('-n', namespace, 'delete', `pod/${name}`, `configmap/${name}`, '--now', '--ignore-not-found'),
  };
}

async function putStream(): Promise<void> {
  const store = openBucket('media');
  const put = (key: string, body: string | Buffer) => store.put(key, body, { contentType: 'application/octet-stream' });
  await put(masterKey(name), `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n${rev}/${track}/playlist.m3u8\n`);
  await put(videoKey(name, rev, `${track}/playlist.m3u8`), `#EXTM3U\n${segments.join('\n')}\n#EXT-X-ENDLIST\n`);
  for (const segment of segments)
    await put(videoKey(name, rev, `${track}/${segment}`), Buffer.alloc(segmentBytes, 'x'));
  await store.close();
}

function podSpec(count: number, image: string): object {
  const files = ['playlist.m3u8', ...segments].map((file) => `/stream/${name}/${rev}/${track}/${file}`);
  const variables = {
    BASE_URL: `http://${release.name}-delivery`,
    PATHS: [`/stream/${name}/master.m3u8`, ...files].join(' '),
    PLAYERS: String(count),
  };
  return {
    terminationGracePeriodSeconds: 0,
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: 'RuntimeDefault' } },
    volumes: [{ name: 'program', configMap: { name } }],
    containers: [
      {
        name: 'players',
        image,
        imagePullPolicy: 'IfNotPresent',
        command: ['node', '/program/players.ts'],
        env: Object.entries(variables).map(([variable, value]) => ({ name: variable, value })),
        volumeMounts: [{ name: 'program', mountPath: '/program' }],
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        resources: { requests: { cpu: '20m', memory: '96Mi' } },
      },
    ],
  };
}
