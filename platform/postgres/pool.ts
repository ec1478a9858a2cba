import { Pool, type PoolConfig } from 'pg';

/**
 * A pool whose connections may break at any time: while one is idle, while it connects, and between two queries of a
 * transaction. Only a query under way fails; nothing is thrown that no caller can catch.
 */
export function openPool(config: PoolConfig): Pool {
  const pool = new Pool(config);
  // Both are needed: the pool's for idle clients, the client's own for one that breaks while a transaction thinks.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}
