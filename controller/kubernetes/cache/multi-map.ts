/** Sets of names by group; an empty group is removed. */
export class MultiMap {
  readonly #names = new Map<string, Set<string>>();

  of(group: string): string[] {
    return [...(this.#names.get(group) ?? [])];
  }

  add(group: string, name: string): void {
    this.#names.set(group, (this.#names.get(group) ?? new Set()).add(name));
  }

  delete(group: string, name: string): void {
    const names = this.#names.get(group);
    names?.delete(name);
    if (names?.size === 0) this.#names.delete(group);
  }
}
