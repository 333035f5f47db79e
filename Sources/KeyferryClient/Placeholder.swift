// KeyferryClient
