package fsstate

// Stat tells size and modification time of one entry, without following a link and without opening it.
func (s *Store) Stat(f Folder, file string) (Info, error) {
	name, err := in("stat", f, file)
	if err != nil {
		return Info{}, err
	}
	info, err := s.disk.Lstat(name)
	if err != nil {
		return Info{}, err
	}
	return Info{ModTime: info.ModTime(), Size: info.Size()}, nil
}
