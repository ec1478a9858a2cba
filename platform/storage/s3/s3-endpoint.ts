import type { S3Client } from '@aws-sdk/client-s3';
import { Pool } from 'undici';
import { RawConnections } from './raw/raw-connections.ts';
import type { S3Settings } from '../../config/storage-settings.ts';

const connectTimeoutMs = 5_000;
/**
 * The connections of each of the two pools; requests over it wait for one, so delivery refuses before
 * (media-reader.ts).
 */
const connectionsMax = { small: 64, bodies: 640 };

/** The address of a bucket, and the connections to it. */
export interface Endpoint {
  /** For HEAD and for small objects, which are read at once: no slow reader occupies one of its connections. */
  readonly small: Pool;
  /** For bodies whose reader sets the pace. */
  readonly bodies: Pool;
  /** For objects and parts of them (docs/design/delivery.md). */
  readonly raw: RawConnections;
  readonly host: string;
  /** The path of the bucket, without a slash at its end. */
  readonly path: string;
}

/** Resolves the address of a bucket by the SDK, which knows Amazon's partitions and host names. */
export async function resolveEndpoint(bucket: string, settings: S3Settings, { config }: S3Client): Promise<Endpoint> {
  const { endpoint, region, forcePathStyle, timeoutMs } = settings;
  const { url } = config.endpointProvider({
    Bucket: bucket,
    Region: region,
    ForcePathStyle: forcePathStyle,
    UseFIPS: await config.useFipsEndpoint(),
    UseDualStack: await config.useDualstackEndpoint(),
    ...(endpoint === undefined ? {} : { Endpoint: endpoint }),
  });
  const { origin, protocol, hostname, port, host, pathname } = url;
  const isSecure = protocol === 'https:';
  const connect = { timeout: Math.min(connectTimeoutMs, timeoutMs) };
  return {
    small: new Pool(origin, { connections: connectionsMax.small, allowH2: false, connect }),
    bodies: new Pool(origin, { connections: connectionsMax.bodies, allowH2: false, connect }),
    raw: new RawConnections({
      isSecure,
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (isSecure ? 443 : 80) : Number(port),
      timeoutMs,
    }),
    host,
    path: pathname.replace(/\/$/, ''),
  };
}
