# The cache that the shop uses today.
resource "aws_elasticache_cluster" "sessions" {
  cluster_id           = "shop-sessions"
  engine               = "redis"
  node_type            = "cache.t4g.small"
  num_cache_nodes      = 1
  parameter_group_name = aws_elasticache_parameter_group.sessions.name
  port                 = 6379
}

resource "aws_elasticache_parameter_group" "sessions" {
  name   = "shop-sessions"
  family = "redis7"

  parameter {
    name  = "maxmemory-policy"
    value = "allkeys-lru"
  }
}
